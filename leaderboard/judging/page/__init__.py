"""Records for the pages and responses about judging."""
