"""Records for the pages and answers about tasks."""
