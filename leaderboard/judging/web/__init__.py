"""Routes of judging: pages and forms."""
