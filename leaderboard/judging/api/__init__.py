"""API operations for judging."""
