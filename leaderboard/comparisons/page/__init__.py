"""Records shown on comparison pages and in API answers."""
