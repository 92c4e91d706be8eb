"""The logo of a task, read with the task in one statement: every page of a task shows it."""

from dataclasses import dataclass
from typing import Any

from sqlalchemy.orm import aliased

from leaderboard.db.tables import Task, TaskPicture

# Made once: to build it takes longer than to ask the database.
_SHOWN = aliased(TaskPicture)


@dataclass(frozen=True, slots=True)
class TaskLogo:
    """The digest and the text of a logo."""

    sha256: str
    alt: str


def with_logo(selected: Any) -> Any:
    """A statement over tasks with the digest and the text of their logos, as logo_sha256 and logo_alt."""
    added = selected.add_columns(_SHOWN.sha256.label("logo_sha256"), _SHOWN.alt.label("logo_alt"))
    return added.outerjoin(_SHOWN, (_SHOWN.task_id == Task.id) & (_SHOWN.kind == "logo"))


def in_row(row: Any) -> TaskLogo | None:
    """The logo in a row of `with_logo`, None where the task has none."""
    return TaskLogo(row.logo_sha256, row.logo_alt) if row.logo_sha256 else None
