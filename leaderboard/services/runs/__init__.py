"""Runs: admitted, checked, stored, described."""
