"""The pages of a run's ranking for a topic, and of one document."""
