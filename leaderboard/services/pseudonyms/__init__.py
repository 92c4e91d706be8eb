"""Teams that readers know by another name: lists of names, the draw, and links for reviewers."""
