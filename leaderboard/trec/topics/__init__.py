"""Topic files and topic ids."""
