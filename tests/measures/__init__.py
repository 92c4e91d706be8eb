"""Tests of leaderboard.measures."""
