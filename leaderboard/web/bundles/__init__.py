"""Addresses of a whole task as files: its export, and how it is cited."""
