"""Runs of several tasks as one viewer may read them: each by the rules, names and scores of its own task."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Annotated

import numpy as np
from sqlalchemy import select
from sqlalchemy.orm import Session

from leaderboard.db.tables import Phase, Run, Task
from leaderboard.errors import Forbidden, NotFound, UnknownMeasure
from leaderboard.pages.scores.table import ComparedRun, ScoreTable, require_details, score_table
from leaderboard.services import policy, shown_names
from leaderboard.services.evaluations.shown import FloatArray
from leaderboard.services.policy import Viewer
from leaderboard.services.shown_names import ShownNames
from leaderboard.tables.record import Place, Shown


@dataclass(frozen=True, slots=True, kw_only=True)
class NamedRun:
    """A run as the viewer knows it, with its task; is_masked: whether by a pseudonym only."""

    run_id: Annotated[int, Shown(shown=Place.DATA)]
    name: Annotated[str, Shown(key="run", group="run")]
    team: Annotated[str, Shown(shown=~Place.PAGE)]
    slug: Annotated[str, Shown(key="original_task", shown=Place.DATA)]
    task: str
    is_masked: bool
    is_withdrawn: bool


@dataclass(frozen=True, eq=False)
class ReadableTask:
    """A task, or a phase of one, whose scores by topic the viewer may see.

    table is None where its board does not have the measure, or no score by it; why says so.
    """

    names: ShownNames
    table: ScoreTable | None
    runs: Mapping[int, ComparedRun]
    rows: Mapping[int, FloatArray]
    why: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class _StoredRun:
    run_id: int
    name: str
    team_id: int
    task_id: int
    phase_id: int
    withdrawn_at: datetime | None
    slug: str
    task: str
    phase: str


@dataclass(frozen=True, eq=False)
class ReadableRuns:
    """Runs by number: what they are called and their scores, where the viewer may see scores by topic."""

    stored: Mapping[int, _StoredRun]
    tasks: Mapping[tuple[int, int], ReadableTask]

    def name(self, run_id: int | None) -> NamedRun | None:
        """The run as the viewer knows it; None where scores by topic of its task are not shown."""
        row = self.stored.get(run_id) if run_id is not None else None
        task = None if row is None else self._task(row)
        if row is None or task is None:
            return None
        return NamedRun(
            run_id=row.run_id,
            name=task.names.run(row.run_id, row.name),
            team=task.names.team(row.team_id),
            slug=row.slug,
            task=row.task,
            is_masked=task.names.is_masked(row.team_id),
            is_withdrawn=row.withdrawn_at is not None,
        )

    def scored(self, run_id: int) -> tuple[ComparedRun, FloatArray] | None:
        """The run with its scores by the measure, (topics,); None where it has none."""
        task = self._task(self.stored[run_id])
        if task is None or run_id not in task.runs:
            return None
        return task.runs[run_id], task.rows[run_id]

    def table(self, run_id: int) -> ScoreTable | None:
        """The scores of the run's task; None where they are not shown, or by another measure only."""
        task = self._task(self.stored[run_id])
        return None if task is None else task.table

    def why(self, run_id: int) -> str:
        """Why the run has no score here."""
        row = self.stored[run_id]
        task = self._task(row)
        if row.withdrawn_at is not None:
            return "is withdrawn"
        return (task and task.why) or "has no score by this measure"

    def _task(self, row: _StoredRun) -> ReadableTask | None:
        return self.tasks.get((row.task_id, row.phase_id))


def readable_runs(
    session: Session, viewer: Viewer, run_ids: Iterable[int], measure: str, own: ScoreTable
) -> ReadableRuns:
    """The runs by a measure; own: the scores of the task whose page it is, which were read already.

    A task whose scores by topic are held back from the viewer is left out, and one it may not know of.
    """
    stored = {row.run_id: row for row in _stored(session, set(run_ids))}
    tasks: dict[tuple[int, int], ReadableTask] = {}
    for row in stored.values():
        key = row.task_id, row.phase_id
        if key in tasks:
            continue
        is_own = row.task_id == own.of.id and own.sight.phase_id in (None, row.phase_id)
        if is_own:
            tasks[key] = _own(session, viewer, own)
        elif (read := _other(session, viewer, row, measure)) is not None:
            tasks[key] = read
    return ReadableRuns(stored, tasks)


def _stored(session: Session, run_ids: set[int]) -> list[_StoredRun]:
    rows = session.execute(
        select(
            Run.id.label("run_id"),
            Run.name,
            Run.team_id,
            Run.task_id,
            Run.phase_id,
            Run.withdrawn_at,
            Task.slug,
            Task.name.label("task"),
            Phase.name.label("phase"),
        )
        .join(Task, Task.id == Run.task_id)
        .join(Phase, Phase.id == Run.phase_id)
        .where(Run.id.in_(run_ids))
        .order_by(Run.id)
    )
    return [_StoredRun(**row._mapping) for row in rows]


def _own(session: Session, viewer: Viewer, table: ScoreTable) -> ReadableTask:
    return _readable(shown_names.shown_names(session, viewer, table.of), table)


def _other(session: Session, viewer: Viewer, row: _StoredRun, measure: str) -> ReadableTask | None:
    """The phase of another task that a run is of; None where the viewer sees no scores by topic of it."""
    asking = replace(viewer, phase=row.phase, edition=None)
    try:
        task, sight = policy.visible_task(session, asking, row.slug)
        require_details(sight)
    except (Forbidden, NotFound):
        return None
    if task.id != row.task_id:
        return None
    names = shown_names.shown_names(session, viewer, task)
    try:
        table = score_table(session, asking, row.slug, measure)
    except (NotFound, UnknownMeasure):
        return ReadableTask(names, None, {}, {}, f"has no score by {measure} on its board")
    return _readable(names, table)


def _readable(names: ShownNames, table: ScoreTable) -> ReadableTask:
    runs = {run.run_id: run for run in table.runs}
    rows = {run.run_id: np.asarray(row) for run, row in zip(table.runs, table.scores, strict=True)}
    return ReadableTask(names, table, runs, rows)
