"""Rules, changes and queries for suites."""
