"""Judging: pools, judging pages, labels of answers, side-by-side comparisons, clicks and combined boards."""
