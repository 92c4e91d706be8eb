"""The site's signature under what it publishes: keys, signing and checking."""
