"""A whole task as plain files, for one viewer."""
