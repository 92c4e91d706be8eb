"""What runs of answers say, for readers."""
