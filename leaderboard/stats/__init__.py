"""Statistics of runs and rankings, on plain arrays and sequences."""
