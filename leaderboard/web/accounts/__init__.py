"""Addresses of accounts and teams."""
