"""What a table of all pairs says about each run."""
