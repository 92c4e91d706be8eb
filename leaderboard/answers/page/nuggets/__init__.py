"""Pages of nuggets."""
