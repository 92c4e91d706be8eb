"""Pools: planned, previewed, stored, opened and closed."""
