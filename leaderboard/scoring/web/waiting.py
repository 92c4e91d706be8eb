"""Requesting statistics from an evaluator for waiting pages."""

from collections.abc import Sequence

from leaderboard.scoring.ops.statistics import requests
from leaderboard.scoring.ops.statistics.requests import WaitingResult
from leaderboard.web.session import viewer, wake, writing


def have_computed(waiting: Sequence[WaitingResult]) -> None:
    """Queue the results that the viewer's page waits for; no write if absent."""
    if waiting:
        asker = viewer()
        with writing() as session:
            requests.ask_for(session, asker, waiting)
        wake()
