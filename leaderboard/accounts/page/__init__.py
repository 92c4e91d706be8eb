"""Records for the pages and API responses on accounts and tokens."""
