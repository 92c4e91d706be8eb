"""Runs on several sets of topics, the members of a suite: aggregates, changes, what is sure."""
