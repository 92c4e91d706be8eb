"""Effectiveness measures: arrays in, one score a topic out; no text, no files, no frameworks."""
