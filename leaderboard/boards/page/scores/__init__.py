"""Scores of all runs by topic and by measure."""
