"""Tables and sessions; no rules."""
