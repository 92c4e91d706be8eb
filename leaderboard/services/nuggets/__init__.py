"""Judgments of answers on a site: read, kept as revisions, and what they say of stored answers."""
