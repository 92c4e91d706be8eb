"""Query logs as files, and their sessions."""
