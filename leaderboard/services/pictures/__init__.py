"""Logos and pictures of tasks: checked, encoded anew, kept."""
