"""Text into arrays and back: runs, qrels, topics, documents; strict, with line-numbered errors."""
