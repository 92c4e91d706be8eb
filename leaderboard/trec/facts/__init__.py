"""What is said about a run, from text to values."""
