"""Addresses of comparisons of runs."""
