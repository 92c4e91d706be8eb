"""Tests of leaderboard.trec."""
