"""Tests of leaderboard.cli."""
