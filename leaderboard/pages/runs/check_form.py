"""What someone about to check a file must know: the task's rules, and nothing of who asks."""

from dataclasses import dataclass

from sqlalchemy import func, select
from sqlalchemy.orm import Session

from leaderboard.db.tables import Topic
from leaderboard.services import policy
from leaderboard.services.policy import Viewer
from leaderboard.services.tasks.head import OfTask


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckForm(OfTask):
    """The rules of a task that a file is checked against."""

    topics: int
    visibility: str
    organises: bool
    details: bool
    """Whether scores by topic are shown to the viewer."""


def check_form(session: Session, viewer: Viewer, slug: str) -> CheckForm:
    """The form of one task for anybody; NotFound where the viewer may not know of the task."""
    task, sight = policy.visible_task(session, viewer, slug)
    return CheckForm(
        of=task,
        topics=session.scalar(select(func.count(Topic.id)).where(Topic.task_id == task.id)) or 0,
        visibility=task.visibility,
        organises=policy.organises(viewer, task.id),
        details=sight.details,
    )
