"""Runs that reproduce other runs: all of a task, one of them level by level, and what pages of runs say."""
