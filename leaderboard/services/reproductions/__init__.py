"""Runs that reproduce other runs: which one, beside which baselines, and what is kept of the pairs."""
