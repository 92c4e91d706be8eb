"""Answers with citations: reading the dialects of several tracks, counting, checking, writing."""
