"""What pages of all judging share: agreement, what is read at a desk, what is left to do."""
