"""The pages that compare runs: two, several, and their curves."""
