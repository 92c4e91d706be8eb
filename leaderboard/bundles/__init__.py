"""Bundles: a task exported, imported and described as one file."""
