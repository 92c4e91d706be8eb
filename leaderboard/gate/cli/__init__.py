"""The command of the gate, and the baseline that it takes from a site."""
