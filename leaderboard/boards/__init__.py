"""Boards: rows, ranks, intervals, history, snapshots, badges and frames."""
