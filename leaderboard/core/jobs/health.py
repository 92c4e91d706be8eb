"""Whether the site does its work: it accepts writes, and evaluators poll for jobs."""

import logging
import threading
import time
from dataclasses import dataclass
from datetime import datetime, timedelta

from sqlalchemy import ColumnElement, delete, func, select
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.exc import OperationalError
from sqlalchemy.orm import Session

from leaderboard.core.jobs import queue
from leaderboard.db.engine import Database, now
from leaderboard.db.tables import Job, Worker

LATELY = timedelta(seconds=60)
KEPT = timedelta(hours=1)
"""Time after which the row of a stopped worker is removed."""


def worker_seen(session: Session, owner: str) -> None:
    """Record that an evaluator polls for jobs now."""
    at = now(session)
    forget_gone(session)
    insert = sqlite.insert if session.get_bind().dialect.name == "sqlite" else postgresql.insert
    # In one statement, because an evaluator and its heartbeat may insert at the same time.
    row = insert(Worker).values(owner=owner, seen_at=at)
    session.execute(row.on_conflict_do_update(index_elements=[Worker.owner], set_={"seen_at": at}))


def forget_gone(session: Session) -> None:
    """Delete the rows of evaluators that stopped long ago."""
    session.execute(delete(Worker).where(~_within(now(session), KEPT)))


def known_workers(session: Session) -> tuple[tuple[str, datetime], ...]:
    """The evaluators of the last hour and when each was seen, the newest first."""
    rows = session.execute(select(Worker.owner, Worker.seen_at).order_by(Worker.seen_at.desc()))
    return tuple((owner, seen_at) for owner, seen_at in rows)


def at_work(session: Session) -> int:
    """The number of evaluators seen recently."""
    return session.scalar(select(func.count()).where(_within(now(session), LATELY))) or 0


def _within(at: datetime, span: timedelta) -> ColumnElement[bool]:
    # A timestamp in the future counts as expired: the clock was set back.
    return Worker.seen_at.between(at - span, at + span)


log = logging.getLogger(__name__)

MOST_WAIT_S = 60
"""Grace period without an evaluator for due jobs, expired leases and a site that just started."""
PROBE_WAIT_S = 2.0
"""Lock timeout of the test whether the database accepts writes."""
PROBED_FOR_S = 5.0
"""Cache duration of that result, so that frequent requests do not write more."""
LOCKED = "The database is locked and does not accept writes."
UNWRITABLE = "The database does not accept writes."


@dataclass(frozen=True, slots=True)
class JobHealth:
    """queued, running and failed count jobs; oldest_queued_s is how long the first one that is due waits.

    left counts jobs whose evaluator has been silent for over a minute and that no other has taken; workers is
    how many evaluators were seen lately, worker_seen_s when the last one was, None where none was in an hour.
    """

    queued: int
    running: int
    failed: int
    left: int
    oldest_queued_s: float | None
    workers: int
    worker_seen_s: float | None

    def problem(self, up_s: float = 0.0) -> str:
        """Why a run would not be scored now; empty where it would. up_s: for how long the site has run."""
        if self.left:
            return "No evaluator takes over the jobs of one that has stopped."
        if self.workers:
            return ""
        if (self.oldest_queued_s or 0) > MOST_WAIT_S:
            return (
                f"Jobs have been queued for {self.oldest_queued_s:.0f} s and no evaluator has polled the "
                "queue recently."
            )
        if self.worker_seen_s is not None or up_s > MOST_WAIT_S:
            return "No evaluator has polled the queue in the last minute."
        return ""


def health(session: Session) -> JobHealth:
    """The state of the queue."""
    rows = session.execute(select(Job.state, func.count()).group_by(Job.state))
    counts = {state: count for state, count in rows}
    at = now(session)
    ended = at - timedelta(seconds=MOST_WAIT_S)
    left = select(func.count()).where(Job.state == "leased", Job.lease_until < ended)
    seen = known_workers(session)
    return JobHealth(
        queued=counts.get("queued", 0),
        running=counts.get("leased", 0),
        failed=counts.get("failed", 0),
        left=session.scalar(left) or 0,
        oldest_queued_s=_oldest_s(session, at),
        workers=at_work(session),
        worker_seen_s=abs((at - seen[0][1]).total_seconds()) if seen else None,
    )


def _oldest_s(session: Session, at: datetime) -> float | None:
    """Seconds since the first due job was queued; at least its delay if the clock was set back."""
    due = (Job.state == "queued", queue.is_due(at))
    first, last = session.execute(select(func.min(Job.run_after), func.max(Job.run_after)).where(*due)).one()
    if first is None:
        return None
    return max((at - first).total_seconds(), (last - at).total_seconds())


class WriteCheck:
    """Whether the database accepts writes, tested regularly, and for how long this process runs."""

    def __init__(self) -> None:
        self._began = time.monotonic()
        self._lock = threading.Lock()
        self._until = 0.0
        self._problem = ""

    @property
    def up_s(self) -> float:
        """For how many seconds this process has run."""
        return time.monotonic() - self._began

    def problem(self, database: Database) -> str:
        """Why nothing can be written, empty where it can; as it was a few seconds ago at most."""
        with self._lock:
            if time.monotonic() >= self._until:
                self._problem = _try_to_write(database)
                self._until = time.monotonic() + PROBED_FOR_S
            return self._problem


def _try_to_write(database: Database) -> str:
    try:
        with database.write(PROBE_WAIT_S, is_shown=False) as session:
            forget_gone(session)
    except OperationalError as error:
        log.warning("the database does not accept writes: %s", error.orig)
        return LOCKED if "lock" in str(error.orig).lower() else UNWRITABLE
    return ""
