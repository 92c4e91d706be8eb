"""Rows that wait to be sent, such as letters, and are tried again: a job for each whose time has come."""

from collections.abc import Collection
from datetime import datetime, timedelta

from sqlalchemy import ColumnElement, or_, select, update
from sqlalchemy.orm import Session

from leaderboard.db.engine import now
from leaderboard.db.tables import Job, Mail, WebhookDelivery
from leaderboard.services.jobs import queue

WAITING, FAILED = "waiting", "failed"
MOST_QUEUED = 500
"""Jobs made at once of rows whose time has come."""


def queue_written(session: Session, kind: str, row_ids: Collection[int]) -> None:
    """Queue rows that were written just now."""
    # SQLite gives numbers again: of a row that was deleted a job may be left under the same one.
    left = update(Job).where(Job.kind == kind, Job.subject_id.in_(row_ids), Job.state == "queued")
    session.execute(left.values(state="superseded"))
    queue.enqueue_new(session, kind, row_ids, priority=queue.LETTERS)


def queue_due(
    session: Session,
    kind: str,
    row: type[Mail | WebhookDelivery],
    longest: timedelta,
    *which: ColumnElement[bool],
) -> None:
    """Queue the rows that wait, whose time has come, and that no job is about."""
    at = now(session)
    pending = select(Job.subject_id).where(Job.kind == kind, Job.state.in_(("queued", "leased")))
    # What seems to wait for longer than anything was put off before the clock was set back.
    is_due = or_(row.next_at <= at, row.next_at > at + longest)
    due = select(row.id).where(row.state == WAITING, is_due, row.id.not_in(pending), *which)
    for row_id in session.scalars(due.order_by(row.id).limit(MOST_QUEUED)).all():
        queue.enqueue(session, kind, row_id, priority=queue.LETTERS)


def is_due(next_at: datetime, at: datetime, longest: timedelta) -> bool:
    """Whether the time of one row has come; nothing waits for longer than `longest`, see `queue_due`."""
    return next_at <= at or next_at > at + longest
