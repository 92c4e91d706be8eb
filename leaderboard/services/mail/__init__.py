"""Mail as a copy of what the site says: addresses, letters on their way, and the server they are handed to."""
