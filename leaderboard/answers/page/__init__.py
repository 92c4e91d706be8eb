"""Records shown on pages of answers and nuggets and in API answers."""
