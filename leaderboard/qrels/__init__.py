"""Revisions of judgments, and what topics and judgments show."""
