"""Boards that combine judgments by people, of a sample, with a machine's judgments of everything."""
