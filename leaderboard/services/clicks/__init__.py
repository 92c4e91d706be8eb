"""Query logs: imported, and read as preferences."""
