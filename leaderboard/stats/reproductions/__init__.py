"""How far an experiment came out again: order of documents, scores by topic, effects, tests."""
