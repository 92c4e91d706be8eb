"""Addresses of what runs of answers say."""
