"""Selection of jobs to send to evaluators through a broker, and when to resend them.

A message may be lost, late or duplicated, so messages of jobs that did not start are sent again. A worker
that gets a job that is no longer queued finds nothing to claim.
"""

from dataclasses import dataclass
from datetime import datetime, timedelta

from sqlalchemy import ColumnElement, and_, func, or_, select, update
from sqlalchemy.orm import Session

from leaderboard.core.jobs import queue
from leaderboard.db.engine import now
from leaderboard.db.tables import Job
from leaderboard.settings import Settings

AGAIN = timedelta(seconds=30)
"""Delay after which a job that was sent but not started is sent again."""
MOST_ON_THE_WAY = 200
"""Messages of one urgency that are out at once: of 50,000 runs to score again, the rest stay in the table."""


@dataclass(frozen=True, slots=True)
class CarriedJob:
    """A job to be sent, and whether a person waits for it."""

    job_id: int
    is_fresh: bool


def take(session: Session, settings: Settings) -> list[CarriedJob]:
    """Mark the jobs that are to be sent now as sent, the most urgent first.

    The marks are committed before the messages go out: no transaction waits for a broker. Jobs that are not
    sent after all are selected again after AGAIN.
    """
    at = now(session)
    if session.scalar(select(Job.id).where(_waits(at)).limit(1)) is None:
        return []
    is_out = _is_out(settings, at)
    due = [
        job
        for kind, which, most in _shares(settings)
        for job in _some(session, at, kind, which, is_out, most)
    ]
    session.execute(update(Job).where(Job.id.in_([job.id for job in due])).values(carried_at=at))
    return [CarriedJob(job.id, job.priority >= queue.FRESH) for job in due]


def _shares(settings: Settings) -> list[tuple[str, ColumnElement[bool], int]]:
    """Jobs that may be in transit at once, with their maximum; and the kind if all are of one."""
    limits = queue.limits(settings)
    free, left_out = Job.kind.not_in(limits), queue.left_out(settings)
    return [
        ("", and_(free, Job.priority >= queue.FRESH), MOST_ON_THE_WAY),
        ("", and_(free, Job.priority < queue.FRESH), MOST_ON_THE_WAY),
        *((kind, Job.kind == kind, most) for kind, most in limits.items() if kind not in left_out),
    ]


def _is_out(settings: Settings, at: datetime) -> ColumnElement[bool]:
    """Jobs on the way, and those being done of the kinds that are counted."""
    is_begun = and_(Job.state == "leased", Job.kind.in_(queue.limits(settings)))
    return or_(and_(Job.state == "queued", _sent_lately(at)), is_begun)


def _some(
    session: Session,
    at: datetime,
    kind: str,
    which: ColumnElement[bool],
    is_out: ColumnElement[bool],
    most: int,
) -> list[Job]:
    room = most - (session.scalar(select(func.count()).select_from(Job).where(which, is_out)) or 0)
    if room <= 0:
        return []
    if kind == queue.WEBHOOK:
        return queue.deliveries_in_turn(session, _waits(at), is_out, room)
    # Rows locked by another sender are skipped; jobs being claimed need no message.
    chosen = select(Job).where(which, _waits(at)).order_by(Job.priority.desc(), Job.id).limit(room)
    return list(session.scalars(chosen.with_for_update(skip_locked=True)))


def _waits(at: datetime) -> ColumnElement[bool]:
    unsent = or_(Job.carried_at.is_(None), ~_sent_lately(at))
    return and_(Job.state == "queued", queue.is_due(at), unsent)


def _sent_lately(at: datetime) -> ColumnElement[bool]:
    # A timestamp in the future counts as expired: the clock was set back.
    return Job.carried_at.between(at - AGAIN, at + AGAIN)
