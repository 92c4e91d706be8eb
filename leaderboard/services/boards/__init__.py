"""The board of a task: its rows, in order."""
