"""Routes of boards: pages and forms."""
