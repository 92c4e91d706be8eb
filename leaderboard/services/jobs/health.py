"""Whether the site does its work: the queue's age and the workers seen lately."""

from dataclasses import dataclass

from sqlalchemy import func, select
from sqlalchemy.orm import Session

from leaderboard.db.engine import now
from leaderboard.db.tables import Job


@dataclass(frozen=True, slots=True)
class JobHealth:
    """queued, running and failed count jobs; oldest_queued_s is how long the first one that is due waits."""

    queued: int
    running: int
    failed: int
    oldest_queued_s: float | None
    workers: int
    """Workers that hold a job whose lease is alive."""


def health(session: Session) -> JobHealth:
    """The state of the queue."""
    at = now(session)
    rows = session.execute(select(Job.state, func.count()).group_by(Job.state))
    counts = {state: count for state, count in rows}
    oldest = session.scalar(select(func.min(Job.run_after)).where(Job.state == "queued"))
    workers = session.scalar(
        select(func.count(Job.owner.distinct())).where(Job.state == "leased", Job.lease_until > at)
    )
    return JobHealth(
        queued=counts.get("queued", 0),
        running=counts.get("leased", 0),
        failed=counts.get("failed", 0),
        oldest_queued_s=None if oldest is None else max(0.0, (at - oldest).total_seconds()),
        workers=workers or 0,
    )
