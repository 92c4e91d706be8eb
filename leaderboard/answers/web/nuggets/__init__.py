"""Routes of nuggets."""
