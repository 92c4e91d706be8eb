"""Pages of revisions and their changes."""
