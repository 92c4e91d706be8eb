"""Run files: read, checked, packed, scored, printed."""
