"""Pages of pools and their audits."""
