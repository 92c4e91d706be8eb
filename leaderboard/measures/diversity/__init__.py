"""Measures of rankings for topics with subtopics."""
