"""Pseudonyms of teams while a task is blind."""
