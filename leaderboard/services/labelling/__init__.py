"""Nuggets and labels of answers that people make here: rounds, the desk, what was settled, drafts of it."""
