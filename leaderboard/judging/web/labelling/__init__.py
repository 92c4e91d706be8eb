"""Routes for labelling answers."""
