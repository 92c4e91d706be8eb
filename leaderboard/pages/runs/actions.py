"""What a reader may do with runs: mark them, withdraw and restore them, describe them."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import func, select
from sqlalchemy.orm import Session

from leaderboard.db.tables import Run, Task
from leaderboard.services import policy
from leaderboard.services.policy import Viewer
from leaderboard.services.runs import withdrawals
from leaderboard.services.runs.withdrawals import RunRules


@dataclass(frozen=True, slots=True, kw_only=True)
class RunActions:
    """What a reader may do with one run, and how many marks its team has given in its phase."""

    run_id: int
    slug: str
    is_own: bool
    """Whether the reader is of its team or organises its task."""
    is_marked: bool
    """Whether its team marked it, as far as the reader may know."""
    final_runs: int | None
    """How many runs of a team count at the end; None is all, and the mark makes a run its primary one."""
    marked: int = 0
    rules: RunRules = RunRules()


def actions_of(
    session: Session, viewer: Viewer, runs: Sequence[Any], tasks: Mapping[int, Task], closed: Collection[int]
) -> dict[int, RunActions]:
    """Run id -> what the viewer may do with it; runs may be rows with a run's columns.

    closed are the ids of the phases that are over. Two statements, none where no run is the viewer's own.
    """
    own = {run.id for run in runs if policy.owns(viewer, run.team_id)}
    by_team = withdrawals.withdrawn_by_its_team(session, [run for run in runs if run.id in own])
    marks = _marks(session, viewer, {run.phase_id for run in runs}) if own else {}

    def actions(run: Any, task: Task) -> RunActions:
        is_closed = run.phase_id in closed
        is_own = run.id in own or policy.organises(viewer, task.id)
        # Which runs a team means to count is nobody else's business until they do.
        is_told = is_own or task.final_runs is None or is_closed
        return RunActions(
            run_id=run.id,
            slug=task.slug,
            rules=withdrawals.rules_of(viewer, run, task, is_closed=is_closed, by_its_team=run.id in by_team),
            is_own=is_own,
            is_marked=run.final_at is not None and is_told,
            final_runs=task.final_runs,
            marked=marks.get((run.phase_id, run.team_id), 0),
        )

    return {run.id: actions(run, tasks[run.task_id]) for run in runs}


def _marks(session: Session, viewer: Viewer, phase_ids: Collection[int]) -> dict[tuple[int, int], int]:
    """How many runs each of the viewer's teams has marked, by phase and team."""
    rows = session.execute(
        select(Run.phase_id, Run.team_id, func.count())
        .where(
            Run.phase_id.in_(phase_ids),
            Run.team_id.in_(viewer.team_ids),
            Run.final_at.is_not(None),
            Run.withdrawn_at.is_(None),
        )
        .group_by(Run.phase_id, Run.team_id)
    )
    return {(phase_id, team_id): marked for phase_id, team_id, marked in rows}
