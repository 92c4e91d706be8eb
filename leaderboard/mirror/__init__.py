"""A site's public pages as files that need no server: what a visitor sees, with links among them."""
