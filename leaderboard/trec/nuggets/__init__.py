"""Judgments of answers as files: nugget sets, assignments, support labels, Auto-ARGUE's judgments."""
