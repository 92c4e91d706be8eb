"""A self-hosted leaderboard for information-retrieval shared tasks."""

__version__ = "0.1.0"
