"""Runs: limits, uploads, batches, withdrawals, and what a run's pages show."""
