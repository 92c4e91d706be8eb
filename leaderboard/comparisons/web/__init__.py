"""Routes of comparisons: pages and forms."""
