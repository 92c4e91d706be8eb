"""Sends runs to a leaderboard of information-retrieval tasks, and reads their scores."""

from leaderboard_submit.client import Client, Submitted, Verdict
from leaderboard_submit.errors import (
    ClientError,
    NotAllowed,
    NotFound,
    OverQuota,
    Refused,
    Rejected,
    Unreachable,
)
from leaderboard_submit.rankings import written

__version__ = "1.0.0"

__all__ = [
    "Client",
    "ClientError",
    "NotAllowed",
    "NotFound",
    "OverQuota",
    "Refused",
    "Rejected",
    "Submitted",
    "Unreachable",
    "Verdict",
    "written",
]
