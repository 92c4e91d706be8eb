"""Judgment files of every kind, as arrays, and aligned with rankings."""
