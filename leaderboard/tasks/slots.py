"""Extension points of tasks for other features."""

from typing import TYPE_CHECKING

from leaderboard.core.slots import Slot

if TYPE_CHECKING:
    from collections.abc import Callable

    from sqlalchemy.orm import Session

    from leaderboard.core.policy import Viewer
    from leaderboard.core.slots import Part
    from leaderboard.db.tables import Suite

    Front = Callable[[Session, Viewer], tuple[Part, ...]]
    About = Callable[[Session, int], tuple[Part, ...]]
    Suites = Callable[[Session, Viewer], list[Suite]]

FRONT: "Slot[Front]" = Slot()
"""Parts of the front page above the tasks."""
ABOUT: "Slot[About]" = Slot()
"""Parts of a visible task's About page, below its description."""
SUITES: "Slot[Suites]" = Slot()
"""The suites visible to the viewer, by title; used by the search."""
