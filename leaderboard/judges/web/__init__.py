"""Routes of judges: pages and forms."""
