"""Measures of rankings against preferences between documents."""
