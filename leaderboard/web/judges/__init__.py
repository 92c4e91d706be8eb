"""Addresses of tasks whose runs are boards of judges."""
