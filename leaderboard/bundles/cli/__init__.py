"""The commands for bundles."""
