"""Judges as participants: boards and labels of theirs held against a reference."""
