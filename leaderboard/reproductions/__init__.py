"""Reproductions: runs compared with the runs they repeat."""
