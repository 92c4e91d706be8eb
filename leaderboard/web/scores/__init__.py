"""Addresses of all scores of a task: heat map, orders by measures."""
