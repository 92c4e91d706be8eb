"""What visitors are given without being made again: pages, as long as nothing on them changed."""
