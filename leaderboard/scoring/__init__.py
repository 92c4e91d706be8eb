"""Scoring: rankings and judgments read, measures evaluated, statistics computed and found."""
