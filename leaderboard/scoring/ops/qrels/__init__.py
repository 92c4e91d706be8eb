"""Storage of judgments, read for scoring."""
