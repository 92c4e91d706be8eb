"""Scores of runs under a revision: computed, brought together in editions, read back."""
