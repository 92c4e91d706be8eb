"""Stored rankings, read back."""
