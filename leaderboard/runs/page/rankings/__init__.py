"""Pages of one ranking and of a document."""
