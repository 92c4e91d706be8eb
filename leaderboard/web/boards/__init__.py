"""Addresses of boards: the board, its intervals, costs, history and snapshots."""
