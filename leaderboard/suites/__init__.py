"""Suites: several tasks ranked together."""
