"""What every page of a task starts with: which task, what its reader may see, what scores rest on."""

from dataclasses import dataclass, fields
from typing import Annotated, Any

from leaderboard.db.tables import Task
from leaderboard.services.evaluations.shown import Basis
from leaderboard.services.policy import Sight
from leaderboard.tables.record import Shown


@dataclass(frozen=True, slots=True, kw_only=True)
class OfTask:
    """What is about a task that its reader knows of."""

    of: Task

    @property
    def task(self) -> str:
        """The task's name."""
        return self.of.name

    @property
    def slug(self) -> Annotated[str, Shown(key="task")]:
        """The task in addresses."""
        return self.of.slug

    @property
    def is_draft(self) -> bool:
        """Whether only its organisers know of it."""
        return self.of.published_at is None

    @property
    def level(self) -> int:
        """The least grade that counts as relevant."""
        return self.of.level


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskHead(OfTask):
    """The head of a task's page; basis is None before the task has judgments, and where no score is shown."""

    sight: Sight
    basis: Basis | None = None

    @property
    def head(self) -> dict[str, Any]:
        """These fields, for another page of the same task."""
        return {one.name: getattr(self, one.name) for one in fields(TaskHead)}
