"""Comparisons of runs: pairs, many at once, curves."""
