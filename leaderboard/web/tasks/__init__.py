"""Addresses of tasks, for readers and for organisers."""
