"""Similarity of two orders or rankings."""
