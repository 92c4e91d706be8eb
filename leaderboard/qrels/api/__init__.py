"""API operations for judgments and topics."""
