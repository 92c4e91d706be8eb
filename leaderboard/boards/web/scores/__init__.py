"""The addresses of scores by topic and by measure."""
