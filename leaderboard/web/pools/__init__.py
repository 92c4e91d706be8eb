"""Addresses of pools, for organisers."""
