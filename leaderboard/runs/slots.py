"""Extension points of runs for other features."""

from typing import TYPE_CHECKING, Protocol

from leaderboard.core.slots import Slot

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    import click
    from sqlalchemy.orm import Session

    from leaderboard.core.policy import TaskAccess, Viewer
    from leaderboard.core.shown_names import ShownNames
    from leaderboard.core.slots import Part
    from leaderboard.db.engine import Database
    from leaderboard.db.tables import Run, Task

    Named = Mapping[str, int]
    Admitted = Callable[[Session, Viewer, Task, int, Named], None]
    Made = Callable[[Session, Viewer, int, Named], None]
    Wholes = Callable[[Session, int], tuple[Part, ...]]
    Mentions = Callable[[Session, Viewer, Run, Task, TaskAccess, ShownNames], tuple[Part, ...]]
    Command = Callable[[], click.Command]


class DemoPart(Protocol):
    """A module that loads a task of the demo, or what rests on all; STEPS: how often it calls step."""

    IS_TASK: bool
    STEPS: int

    def load(self, database: "Database", step: "Callable[[], None]") -> bool:
        """Load it unless it is there; whether it was loaded."""


ADMITTED: "Slot[Admitted]" = Slot()
"""Called before a phase accepts a run that reproduces the named runs; raises Invalid if it cannot."""
MADE: "Slot[Made]" = Slot()
"""Called with a new run that reproduces the named runs."""
WHOLES: "Slot[Wholes]" = Slot()
"""The groups that contain a run; called if `RunLinks.in_suites`, and only for readers who may know."""
MENTIONS: "Slot[Mentions]" = Slot()
"""The links to other runs shown on a run's page."""
COMMANDS: "Slot[Command]" = Slot()
"""Subcommands of `leaderboard run`."""
DEMO: Slot[DemoPart] = Slot()
"""Demo content in addition to rankings and answers."""
