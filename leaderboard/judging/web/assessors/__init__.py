"""Routes for assessors of documents."""
