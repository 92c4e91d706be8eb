"""The judging room of a pool: a live page for a screen, of what comes in and what it does to the order."""
