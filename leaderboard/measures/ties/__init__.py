"""What equal scores leave open in a run's ranking, and in its score."""
