"""Answers of runs: stored, read back, checked on their way in."""
