"""Pages of all scores of a task: the field, the heat map, orders by measures."""
