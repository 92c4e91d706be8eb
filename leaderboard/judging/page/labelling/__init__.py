"""Pages for labelling answers."""
