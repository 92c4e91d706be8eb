"""Addresses of suites."""
