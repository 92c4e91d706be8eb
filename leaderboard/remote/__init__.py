"""A site that is worked for from another machine, by a token in place of its database."""
