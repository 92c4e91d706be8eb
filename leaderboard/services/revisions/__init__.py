"""New revisions of judgments: kept as drafts, then published."""
