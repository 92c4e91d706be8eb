"""Mail and webhooks: rules, changes and queries."""
