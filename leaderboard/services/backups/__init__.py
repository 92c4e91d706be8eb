"""Backups of a whole site: all tables as rows of one file, which either database writes and reads."""
