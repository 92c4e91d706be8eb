"""The Python interface: what `import leaderboard` offers, on the readers, measures and statistics."""
