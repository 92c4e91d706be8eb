"""Records shown on pages of judgments and topics and in API answers."""
