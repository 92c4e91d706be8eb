"""Judges: automatic judges as a kind of run, scored by their agreement with assessors."""
