"""Which evaluators look for work: each says so every few seconds, also while it does a job."""

from datetime import datetime, timedelta

from sqlalchemy import ColumnElement, delete, func, select
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.orm import Session

from leaderboard.db.engine import now
from leaderboard.db.tables import Worker

LATELY = timedelta(seconds=60)
KEPT = timedelta(hours=1)
"""How long the row of a worker that is gone is left."""


def seen(session: Session, owner: str) -> None:
    """Note that an evaluator looks for work now."""
    at = now(session)
    forget(session)
    insert = sqlite.insert if session.get_bind().dialect.name == "sqlite" else postgresql.insert
    # In one statement: an evaluator and its heartbeat may both be the first to say so.
    row = insert(Worker).values(owner=owner, seen_at=at)
    session.execute(row.on_conflict_do_update(index_elements=[Worker.owner], set_={"seen_at": at}))


def forget(session: Session) -> None:
    """Drop the rows of evaluators that are gone for long."""
    session.execute(delete(Worker).where(~_within(now(session), KEPT)))


def known(session: Session) -> tuple[tuple[str, datetime], ...]:
    """The evaluators of the last hour and when each was seen, the newest first."""
    rows = session.execute(select(Worker.owner, Worker.seen_at).order_by(Worker.seen_at.desc()))
    return tuple((owner, seen_at) for owner, seen_at in rows)


def at_work(session: Session) -> int:
    """How many evaluators were seen lately."""
    return session.scalar(select(func.count()).where(_within(now(session), LATELY))) or 0


def _within(at: datetime, span: timedelta) -> ColumnElement[bool]:
    # A stamp from the future is as old as any: the clock was set back since.
    return Worker.seen_at.between(at - span, at + span)
