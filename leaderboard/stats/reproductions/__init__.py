"""Agreement of a reproduction with its original: order of documents, scores by topic, effects, tests."""
