"""Measures of judges: how well a board of a judge agrees with the reference of its task."""
