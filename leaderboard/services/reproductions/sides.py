"""Both runs of a reproduction as one viewer may know of them: what decides whether it is told at all."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import bindparam, select
from sqlalchemy.orm import Session

from leaderboard.db.engine import now
from leaderboard.db.tables import Run, Task
from leaderboard.errors import Forbidden, NotFound
from leaderboard.services import phase_rules, policy, shown_names
from leaderboard.services.policy import Sight, Viewer
from leaderboard.services.shown_names import ShownNames

_RUNS = select(Run, Task).join(Task, Task.id == Run.task_id)
_RUNS_WITH_PHASES = phase_rules.with_phases(_RUNS.where(Run.id.in_(bindparam("runs", expanding=True))))


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
    seen = _visible_runs(session, viewer, run_ids)
    tasks = {task.id: task for _, task, _ in seen.values()}
    names = shown_names.shown_names_of(session, viewer, tasks.values()) if tasks else {}
    return {run_id: RunSide(run, task, sight, names[task.id]) for run_id, (run, task, sight) in seen.items()}


def _visible_runs(
    session: Session, viewer: Viewer, run_ids: Collection[int]
) -> dict[int, tuple[Run, Task, Sight]]:
    """Those of the runs that `policy.visible_run` gives the viewer; one statement, and the time."""
    if not run_ids:
        return {}
    at = now(session)
    by_run: dict[int, list[Any]] = {}
    for row in session.execute(_RUNS_WITH_PHASES, {"runs": list(run_ids)}):
        by_run.setdefault(row.Run.id, []).append(row)
    return {
        run_id: (rows[0].Run, rows[0].Task, seen)
        for run_id, rows in by_run.items()
        if viewer.only_task in (None, rows[0].Task.id)
        and (seen := policy.sight_of_run(session, viewer, rows, at)) is not None
    }


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
