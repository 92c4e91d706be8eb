"""How far scores could move if the unjudged documents were judged."""
