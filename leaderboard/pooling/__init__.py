"""Selection of documents to judge, and preferences from clicks."""
