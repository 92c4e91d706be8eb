"""How well a judge puts runs in the order of a reference, and what may be claimed of it."""
