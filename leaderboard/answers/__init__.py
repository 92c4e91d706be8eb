"""Generated answers as a kind of run, and nuggets, by which they are scored."""
