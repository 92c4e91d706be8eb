"""Procedures of evaluators other than score comparisons."""
