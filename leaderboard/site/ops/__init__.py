"""Site operation: rules, changes and queries."""
