"""What every page of a task starts with: which task, what its reader may see, what scores rest on."""

from dataclasses import dataclass

from leaderboard.services.evaluations.shown import Basis
from leaderboard.services.policy import Sight


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskHead:
    """The head of a task's page; basis is None before the task has judgments."""

    task: str
    slug: str
    sight: Sight
    basis: Basis | None
