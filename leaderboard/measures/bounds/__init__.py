"""Bounds of scores if the unjudged documents were judged."""
