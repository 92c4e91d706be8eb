"""Measures of answers: nuggets contained, and claims supported by citations."""
