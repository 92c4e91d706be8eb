"""Nuggets: reading judgments and scoring answers."""
