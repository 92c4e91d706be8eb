"""Routes of judgments and topics: pages and forms."""
