"""Measures that trec_eval alone has."""
