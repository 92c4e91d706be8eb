"""Accounts and tokens: rules, changes and queries."""
