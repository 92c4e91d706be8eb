"""The newest announcement of a task, read with the task in one statement: every page of a task names it."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import func, select
from sqlalchemy.orm import aliased

from leaderboard.db.tables import Announcement, Task

EVERYBODY = "everybody"
"""The kind of announcement that all who know of a task may read."""


@dataclass(frozen=True, slots=True)
class NewestAnnouncement:
    """The newest announcement for everybody, None for none, and the id of the newest of any kind."""

    id: int | None
    title: str | None
    at: datetime | None
    last_id: int | None


def with_newest(selected: Any) -> Any:
    """A statement over tasks with the four values of their newest announcement."""
    newest = select(func.max(Announcement.id)).where(Announcement.task_id == Task.id).correlate(Task)
    for_all = newest.where(Announcement.recipients["kind"].as_string() == EVERYBODY)
    shown = aliased(Announcement)
    told = shown.id, shown.title, shown.created_at, newest.scalar_subquery()
    joined = selected.add_columns(*told).select_from(Task)
    return joined.outerjoin(shown, shown.id == for_all.scalar_subquery())
