"""Statistics of many runs: requested by pages, computed by evaluators, stored."""
