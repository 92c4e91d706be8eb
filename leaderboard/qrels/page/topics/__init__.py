"""Pages of topics and their judgments."""
