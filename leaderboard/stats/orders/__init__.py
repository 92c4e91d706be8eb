"""How alike two orders or rankings are."""
