"""Evaluations of runs against editions of the judgments, and the scores that may be shown."""
