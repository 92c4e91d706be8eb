"""The commands for the site."""
