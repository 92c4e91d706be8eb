"""What participants report about a run, from text to values."""
