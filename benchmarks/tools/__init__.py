"""Small programs that make other evaluators compute and print the same values."""
