"""Generated answers as a kind of run, and the nuggets that score them."""
