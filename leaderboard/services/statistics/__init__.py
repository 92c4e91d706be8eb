"""Comparisons of runs: what is asked, where results are kept, what they say."""
