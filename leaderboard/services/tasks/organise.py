"""What organisers change of a task: its dates, and the topics that count."""

from datetime import datetime

from sqlalchemy import select
from sqlalchemy.orm import Session

from leaderboard import zones
from leaderboard.db.engine import lock_row
from leaderboard.db.tables import Task, Topic
from leaderboard.errors import Conflict, NotFound
from leaderboard.services import audit, policy
from leaderboard.services.policy import Viewer
from leaderboard.services.tasks import changes, dates, phases


def set_dates(
    session: Session,
    viewer: Viewer,
    slug: str,
    span: tuple[datetime | None, datetime | None],
    *,
    zone: str = "UTC",
    reason: str = "",
    seen: str = "",
) -> None:
    """Set from when to when the task's first phase takes runs; None is no limit.

    Raises Invalid where it would close before it opens, and for a deadline that is moved without a reason;
    Conflict where the dates do not have the stamp any more that was seen (empty: none was).
    """
    task = policy.own_task(session, viewer, slug)
    dates.require_order(*span)
    zones.require_zone(zone)
    lock_row(session, Task, task.id)
    phase = phases.of_task(session, task.id)[0]
    # Read before the lock came, it may have been changed by whoever held it.
    session.refresh(phase)
    before = dates.described(phase)
    if seen not in ("", changes.stamp(before)):
        said = changes.who_changed(session, viewer, task, {f"dates of {phase.name}"}, "dates")
        raise Conflict(f"{said} {changes.SAVE_AGAIN}")
    dates.require_reason(task, phase, span[1], reason)
    (phase.opens_at, phase.closes_at), phase.zone = span, zone
    opens, closes = (moment.isoformat() if moment else "" for moment in span)
    audit.record(session, viewer, "task.dates", f"task:{task.id}", opens=opens, closes=closes)
    changes.note_dates(session, viewer, task, phase, before, reason.strip())


def exclude_topic(session: Session, viewer: Viewer, slug: str, topic_id: str, reason: str) -> None:
    """Leave a topic of a draft out of all means, with the reason; an empty reason takes it back in."""
    task = policy.own_task(session, viewer, slug)
    if task.published_at is not None:
        raise Conflict("Topics can be excluded only before the task is published.")
    topic = session.scalar(select(Topic).where(Topic.task_id == task.id, Topic.topic_id == topic_id))
    if topic is None:
        raise NotFound(f"There is no topic {topic_id!r} in this task.")
    topic.excluded = reason.strip()
    audit.record(session, viewer, "topic.exclude", f"task:{task.id}", topic=topic_id, reason=topic.excluded)
