"""The demo's tasks loaded one after the other, each unless it is there, and their suite."""

from collections.abc import Callable, Sequence
from types import ModuleType

from leaderboard.db.engine import Database
from leaderboard.services.demo import answers, judges, rankings, suites

TASKS = (answers, judges, rankings)
"""What loads a task each. The last one stands first where tasks are listed, and is the one to begin with."""
RANKINGS = (rankings,)
"""The task of rankings alone."""
STEPS = sum(task.STEPS for task in (*TASKS, suites))
"""How often `load` reports progress where no task is there."""


def load(database: Database, step: Callable[[], None], tasks: Sequence[ModuleType] = TASKS) -> int:
    """Load the tasks that are not there, and of all tasks the suite; how many tasks were loaded.

    Calls step after each part.
    """
    loaded = sum(bool(task.load(database, step)) for task in tasks)
    if tasks == TASKS:
        suites.load(database, step)
    return loaded
