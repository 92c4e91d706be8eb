"""Rules, changes and queries for runs."""
