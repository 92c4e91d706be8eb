"""Pages of nuggets and labels: what a revision holds of them, who made it, and a topic's nuggets."""
