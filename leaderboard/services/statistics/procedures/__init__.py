"""Statistics that are computed from stored rankings and judgments rather than from scores."""
