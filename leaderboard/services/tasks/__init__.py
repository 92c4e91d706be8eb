"""Making and changing a task: its topics, measures and grades."""
