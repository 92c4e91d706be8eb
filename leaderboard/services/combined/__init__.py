"""Boards that combine judgments by people and by a machine."""
