"""The pages of a board: its views, history, snapshots, intervals and costs."""
