"""Effects of ties on a run's ranking and score."""
