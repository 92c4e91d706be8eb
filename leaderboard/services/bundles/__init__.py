"""Bundles: a whole task as plain files that need no program to be read, and a task made of such files."""
