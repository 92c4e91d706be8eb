"""Mail as a copy of what the site says: addresses, letters on their way, the server that takes them."""
