"""What organisers change of a task: its dates, and the topics that count."""

from datetime import datetime

from sqlalchemy import select
from sqlalchemy.orm import Session

from leaderboard.db.tables import Phase, Topic
from leaderboard.errors import Conflict, Invalid
from leaderboard.services import audit, policy
from leaderboard.services.policy import Viewer


def set_dates(
    session: Session, viewer: Viewer, slug: str, opens_at: datetime | None, closes_at: datetime | None
) -> None:
    """Set when the task takes runs; None is no limit. A blind or sealed task shows everything once closed.

    Raises Invalid where it would close before it opens.
    """
    task = policy.own_task(session, viewer, slug)
    if opens_at is not None and closes_at is not None and closes_at <= opens_at:
        raise Invalid("The task would close before it opens; give a later closing time.")
    for phase in session.scalars(select(Phase).where(Phase.task_id == task.id)):
        phase.opens_at, phase.closes_at = opens_at, closes_at
    opens, closes = (moment.isoformat() if moment else "" for moment in (opens_at, closes_at))
    audit.record(session, viewer, "task.dates", f"task:{task.id}", opens=opens, closes=closes)


def exclude_topic(session: Session, viewer: Viewer, slug: str, topic_id: str, reason: str) -> None:
    """Leave a topic of a draft out of all means, with the reason; an empty reason takes it back in."""
    task = policy.own_task(session, viewer, slug)
    if task.published_at is not None:
        raise Conflict("Topics can be excluded only before the task is published.")
    topic = session.scalar(select(Topic).where(Topic.task_id == task.id, Topic.topic_id == topic_id))
    if topic is None:
        raise Invalid(f"There is no topic {topic_id!r} in this task.")
    topic.excluded = reason.strip()
    audit.record(session, viewer, "topic.exclude", f"task:{task.id}", topic=topic_id, reason=topic.excluded)
