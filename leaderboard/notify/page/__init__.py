"""Records for the pages and API responses on mail and webhooks."""
