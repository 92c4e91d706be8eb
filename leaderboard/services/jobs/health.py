"""Whether the site does its work: how long jobs wait, and whether anybody looks for them."""

from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import func, select
from sqlalchemy.orm import Session

from leaderboard.db.engine import now
from leaderboard.db.tables import Job
from leaderboard.services.jobs import queue, workers

MOST_WAIT_S = 60
"""How long work may wait while no evaluator looks for it."""


@dataclass(frozen=True, slots=True)
class JobHealth:
    """queued, running and failed count jobs; oldest_queued_s is how long the first one that is due waits.

    workers is how many evaluators were seen lately.
    """

    queued: int
    running: int
    failed: int
    oldest_queued_s: float | None
    workers: int

    @property
    def problem(self) -> str:
        """Why the site cannot be said to work; empty where it does."""
        if self.workers or (self.oldest_queued_s or 0) <= MOST_WAIT_S:
            return ""
        return f"Work has waited for {self.oldest_queued_s:.0f} s and no evaluator has looked for it lately."


def health(session: Session) -> JobHealth:
    """The state of the queue."""
    rows = session.execute(select(Job.state, func.count()).group_by(Job.state))
    counts = {state: count for state, count in rows}
    return JobHealth(
        queued=counts.get("queued", 0),
        running=counts.get("leased", 0),
        failed=counts.get("failed", 0),
        oldest_queued_s=_oldest_s(session, now(session)),
        workers=workers.at_work(session),
    )


def _oldest_s(session: Session, at: datetime) -> float | None:
    """How long the first due job waits; of one queued before the clock was set back, at least by how much."""
    due = (Job.state == "queued", queue.is_due(at))
    first, last = session.execute(select(func.min(Job.run_after), func.max(Job.run_after)).where(*due)).one()
    if first is None:
        return None
    return max((at - first).total_seconds(), (last - at).total_seconds())
