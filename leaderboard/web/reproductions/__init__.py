"""Runs that reproduce other runs: all of a task, one of them, and the form that says so."""
