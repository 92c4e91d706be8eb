"""The site as a whole: backups, checks, the demo, its operators' pages and its server."""
