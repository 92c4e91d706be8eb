"""A self-hosted leaderboard for information-retrieval shared tasks."""

__version__ = "1.0.0"
