"""Commands for judging."""
