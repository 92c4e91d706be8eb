"""The demo's tasks loaded one after the other, each unless it is there."""

from collections.abc import Callable, Sequence
from types import ModuleType

from leaderboard.db.engine import Database
from leaderboard.services.demo import answers, judges, rankings

TASKS = (rankings, answers, judges)
"""What loads a task each, in the order in which they need each other."""
FIRST = TASKS[:1]
STEPS = sum(task.STEPS for task in TASKS)
"""How often `load` reports progress where no task is there."""


def load(database: Database, step: Callable[[], None], tasks: Sequence[ModuleType] = TASKS) -> int:
    """Load the tasks that are not there; how many were loaded. Calls step after each part."""
    return sum(task.load(database, step) for task in tasks)
