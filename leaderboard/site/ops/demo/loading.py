"""The demo's tasks loaded one after the other, each unless it is there, and what rests on all of them."""

from collections.abc import Callable, Sequence

from leaderboard.db.engine import Database
from leaderboard.runs import slots
from leaderboard.runs.slots import DemoPart
from leaderboard.site.ops.demo import answers, rankings

RANKINGS: tuple[DemoPart, ...] = (rankings,)
"""The ranking task alone."""


def tasks() -> tuple[DemoPart, ...]:
    """Loaders of the demo's tasks. The last one comes first in lists, and is the one to start with."""
    return (answers, *(part for part in slots.DEMO if part.IS_TASK), rankings)


def steps() -> int:
    """Number of progress reports of `load` on a site without tasks."""
    others = (part for part in slots.DEMO if not part.IS_TASK)
    return sum(part.STEPS for part in (*tasks(), *others))


def load(database: Database, step: Callable[[], None], only: Sequence[DemoPart] = ()) -> int:
    """Load the tasks that are not there, and of all tasks what rests on them; how many tasks were loaded.

    Calls step after each part.
    """
    loaded = sum(bool(task.load(database, step)) for task in only or tasks())
    for part in slots.DEMO if not only else ():
        if not part.IS_TASK:
            part.load(database, step)
    return loaded
