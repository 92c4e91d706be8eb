"""Pages of assessors of documents."""
