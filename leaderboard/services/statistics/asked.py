"""Comparisons that accounts ask for: how many may wait at once."""

from collections.abc import Iterable
from datetime import timedelta

from sqlalchemy import func, select
from sqlalchemy.orm import Session

from leaderboard.db.engine import lock_row
from leaderboard.db.tables import Account, Job, Statistic
from leaderboard.errors import OverQuota
from leaderboard.services import throttles
from leaderboard.services.jobs import queue
from leaderboard.services.policy import Viewer, require_account
from leaderboard.services.statistics import requests
from leaderboard.services.statistics.requests import WaitingResult

MOST_WAITING = 10
"""Comparisons of one account that may wait or run at once."""
MOST_OF_A_NETWORK = 100
"""Comparisons that the accounts of one network may ask for in an hour."""


def ask(session: Session, viewer: Viewer, wanted: Iterable[WaitingResult]) -> None:
    """Have computed what a viewer's page waits for, the first of it where the account may not ask for all.

    The operator may ask for anything. Raises OverQuota where the account may ask for nothing
    more now: 10 comparisons it asked for wait or run, or its network asked for 100 within an hour.
    """
    if viewer.is_operator:
        for result in wanted:
            requests.have_computed(session, result.request)
        return
    account_id = require_account(viewer)
    lock_row(session, Account, account_id)
    asked = list(wanted)
    for result in asked:
        requests.hurry(session, result.request)
    due = [result.request for result in asked if _is_due(session, result)]
    room = MOST_WAITING - _waiting_of(session, account_id)
    if due and room <= 0:
        raise OverQuota(
            f"{MOST_WAITING} comparisons that you asked for are waiting or running; "
            "ask again once one is done."
        )
    for request in due[:room]:
        key = f"comparison ip {throttles.network(viewer.ip)}"
        throttles.spend(session, key, MOST_OF_A_NETWORK, timedelta(hours=1))
        requests.have_computed(session, request, account_id)


def _waiting_of(session: Session, account_id: int) -> int:
    """How many comparisons that an account asked for are not done yet."""
    unfinished = (
        select(func.count())
        .select_from(Job)
        .join(Statistic, Statistic.id == Job.subject_id)
        .where(Job.kind == queue.COMPARE, Job.state.in_(("queued", "leased")))
    )
    return session.scalar(unfinished.where(Statistic.asked_by == account_id)) or 0


def _is_due(session: Session, result: WaitingResult) -> bool:
    """Whether the result is neither computed nor about to be."""
    found = requests.find(session, result.request)
    return isinstance(found, WaitingResult) and found.state in ("absent", "failed")
