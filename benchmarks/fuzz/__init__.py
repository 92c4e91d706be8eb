"""Mutated files for every reader: what they may not do is crash, disagree, or take too much."""
