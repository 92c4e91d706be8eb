"""Cards: pictures that stand for a task, a run or a snapshot where its address is shared."""

WIDTH, HEIGHT = 1200, 630
"""Pixels of a card: what the sites that show such pictures ask for."""
