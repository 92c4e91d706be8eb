"""Board files: one value a run, topic and measure, as judges and evaluation tools write them."""
