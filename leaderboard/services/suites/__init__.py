"""Suites: boards over several tasks, and runs of several tasks at once."""
