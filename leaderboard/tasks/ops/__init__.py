"""Rules, changes and queries for tasks."""
