"""What someone about to check a file must know: the task's rules, and nothing of who asks."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from sqlalchemy import func, select
from sqlalchemy.orm import Session

from leaderboard.db.tables import Topic
from leaderboard.services import policy
from leaderboard.services.policy import Viewer


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckForm:
    """The rules of a task that a file is checked against."""

    slug: str
    task: str
    topics: int
    depth: int
    tag_pattern: str
    visibility: str
    task_kind: str
    """rankings or answers."""
    answer_rules: Mapping[str, Any]
    """What answers are checked against; empty where the task takes rankings."""
    organises: bool
    details: bool
    """Whether scores by topic are shown to the viewer."""


def check_form(session: Session, viewer: Viewer, slug: str) -> CheckForm:
    """The form of one task for anybody; NotFound where the viewer may not know of the task."""
    task, sight = policy.visible_task(session, viewer, slug)
    return CheckForm(
        slug=task.slug,
        task=task.name,
        topics=session.scalar(select(func.count(Topic.id)).where(Topic.task_id == task.id)) or 0,
        depth=task.depth,
        tag_pattern=task.tag_pattern,
        visibility=task.visibility,
        task_kind=task.kind,
        answer_rules=task.answer_rules,
        organises=policy.organises(viewer, task.id),
        details=sight.details,
    )
