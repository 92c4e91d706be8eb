"""The commands for judgments and topics."""
