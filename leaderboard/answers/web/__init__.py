"""Routes of answers and nuggets: pages and forms."""
