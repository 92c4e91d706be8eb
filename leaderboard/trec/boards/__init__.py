"""Board files: one value per run, topic and measure, as judges and evaluation tools write them."""
