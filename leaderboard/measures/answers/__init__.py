"""Measures of answers: what they say of a topic's nuggets, and whether what they cite bears it out."""
