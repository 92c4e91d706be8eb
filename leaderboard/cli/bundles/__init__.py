"""Commands that take a whole task out of a site, and bring one in."""
