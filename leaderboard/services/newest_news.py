"""The newest announcement of a task, read with the task in one statement: every page of a task names it."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import func, select
from sqlalchemy.orm import aliased

from leaderboard.db.tables import Announcement, Task

EVERYBODY = "everybody"
"""The kind of announcement that all who know of a task may read."""
# Made once: to build them takes longer than to ask the database.
_SHOWN = aliased(Announcement)
_LAST = select(func.max(Announcement.id)).where(Announcement.task_id == Task.id).correlate(Task)
_LAST_FOR_ALL = _LAST.where(Announcement.recipients["kind"].as_string() == EVERYBODY).scalar_subquery()
_VALUES = _SHOWN.id, _SHOWN.title, _SHOWN.created_at, _LAST.scalar_subquery()


@dataclass(frozen=True, slots=True)
class NewestAnnouncement:
    """The newest announcement for everybody, None for none, and the id of the newest of any kind."""

    id: int | None
    title: str | None
    at: datetime | None
    last_id: int | None


def with_newest(selected: Any) -> Any:
    """A statement over tasks with the four values of their newest announcement."""
    joined = selected.add_columns(*_VALUES).select_from(Task)
    return joined.outerjoin(_SHOWN, _SHOWN.id == _LAST_FOR_ALL)
