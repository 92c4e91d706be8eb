"""Records shown on board pages and in API answers."""
