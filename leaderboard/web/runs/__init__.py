"""Addresses of runs: uploads, pages, files and facts."""
