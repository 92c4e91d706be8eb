"""Both runs of a reproduction as one viewer may know of them: what decides whether it is told at all."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from sqlalchemy.orm import Session

from leaderboard.db.tables import Run, Task
from leaderboard.errors import Forbidden, NotFound
from leaderboard.services import policy, shown_names
from leaderboard.services.policy import Sight, Viewer
from leaderboard.services.shown_names import ShownNames


@dataclass(frozen=True, slots=True)
class RunSide:
    """A run as the viewer sees it: of its task, with its names."""

    run: Run
    task: Task
    sight: Sight
    names: ShownNames

    @property
    def is_masked(self) -> bool:
        """Whether the viewer knows it by a pseudonym only."""
        return self.names.is_masked(self.run.team_id)


def side(session: Session, viewer: Viewer, run_id: int) -> RunSide | None:
    """The run; None where the viewer may not know of it."""
    try:
        run, task, sight = policy.visible_run(session, viewer, run_id)
    except (Forbidden, NotFound):
        return None
    return RunSide(run, task, sight, shown_names.shown_names(session, viewer, task))


def all_sides(session: Session, viewer: Viewer, run_ids: Collection[int]) -> dict[int, RunSide]:
    """Those of the runs that the viewer may know of, by their ids; a few statements for all."""
    seen = policy.visible_runs(session, viewer, run_ids)
    tasks = {task.id: task for _, task, _ in seen.values()}
    names = shown_names.shown_names_of(session, viewer, tasks.values()) if tasks else {}
    return {run_id: RunSide(run, task, sight, names[task.id]) for run_id, (run, task, sight) in seen.items()}


def is_open(sides: Sequence[RunSide]) -> bool:
    """Whether the page of a reproduction of one of these runs by the other is there for the viewer.

    Scores by topic of both are shown. Of two tasks neither run goes by a pseudonym: the name of the other
    may tell whose it is.
    """
    if not all(one.sight.details for one in sides):
        return False
    return len({one.task.id for one in sides}) == 1 or not any(one.is_masked for one in sides)


def is_told(viewer: Viewer, reproducing: RunSide, sides: Sequence[RunSide]) -> bool:
    """Whether the viewer may know of the reproduction: who said it, the organisers, and where it is open."""
    is_own = policy.owns(viewer, reproducing.run.team_id) or reproducing.sight.organises
    return is_own or is_open(sides)
