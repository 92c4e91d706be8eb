"""Scores of a task's runs on its topics by one measure: the input of every comparison."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from dataclasses import field as dataclasses_field
from functools import cached_property

import numpy as np
from numpy import typing as npt
from sqlalchemy import ColumnElement, select
from sqlalchemy.orm import Session

from leaderboard.core import policy, shown_names
from leaderboard.core.policy import TaskAccess, Viewer, of_phase
from leaderboard.core.shown_names import NAMED_RUN
from leaderboard.db.tables import Edition, Run, Task
from leaderboard.errors import Invalid, NotFound, NotShown, UnknownMeasure
from leaderboard.measures.naming import parse
from leaderboard.measures.record import refusal
from leaderboard.scoring.ops.evaluations import shown as evaluations_shown
from leaderboard.scoring.ops.evaluations.shown import (
    Basis,
    FloatArray,
    ShownEdition,
    Source,
    both_scores,
    scores_of,
    shown_edition,
)
from leaderboard.scoring.ops.run_facts import RunName
from leaderboard.scoring.ops.scored_topics import (
    RANKED_KIND,
    MeasureColumn,
    TaskHead,
    column,
    not_chosen,
    shown_kind,
)
from leaderboard.scoring.ops.statistics.requests import Request


@dataclass(frozen=True, slots=True, kw_only=True)
class ComparedRun(RunName):
    """A compared run, by id; its ranking's digest identifies the ranking."""

    team_id: int
    ranking_sha256: str
    topics: int = 0
    """The number of topics that it has rankings for."""


@dataclass(frozen=True, eq=False, kw_only=True)
class ScoreTable(TaskHead):
    """Scores of runs (rows, by id) on topics (columns, in the revision's order) by one measure."""

    basis: Basis
    source: Source
    measure: MeasureColumn
    runs: tuple[ComparedRun, ...]
    scores: FloatArray
    """(runs, topics), as the measure prints them."""

    @property
    def topics(self) -> tuple[str, ...]:
        """The topics, in the order of the columns."""
        return self.source.topics

    @cached_property
    def better(self) -> FloatArray:
        """Scores with higher values being better, (runs, topics)."""
        return -self.scores if self.measure.lower_is_better else self.scores

    @property
    def sign(self) -> int:
        """-1 where lower is better, else 1."""
        return self.measure.sign

    @property
    def means(self) -> FloatArray:
        """The mean of each run over the topics, (runs,)."""
        means: FloatArray = self.scores.mean(axis=1)
        return means


def comparable(columns: Collection[MeasureColumn]) -> tuple[MeasureColumn, ...]:
    """Measures that can compare runs."""
    return tuple(measure for measure in columns if not refusal(parse(measure.key).measure))


def score_table(
    session: Session,
    viewer: Viewer,
    slug: str,
    measure: str | None = None,
    *,
    run_ids: Collection[int] | None = None,
    edition: int | None = None,
) -> ScoreTable:
    """Scores of the requested runs (None: all scored runs) under the shown edition.

    All scores belong to one edition, so to one revision, dialect, topic set and measure version. Raises
    NotFound for an unknown task, edition or run, and while topic scores are hidden; UnknownMeasure for a
    measure that is not on the board or cannot compare runs; Invalid for a run without a score.
    """
    task, access = policy.visible_task(session, viewer, slug)
    require_details(access)
    shown = shown_edition(session, task, access, edition)
    if shown.edition is None or shown.basis is None or shown.source is None:
        raise NotFound(f"{task.name} has no judgments yet, so there is nothing to compare.")
    column = _column(shown.edition, measure)
    runs = _runs(session, viewer, task, access, run_ids)
    ids = [run.run_id for run in runs]
    source = evaluations_shown.narrowed(shown.source, shown.edition, column.key)
    if not source.topics:
        raise NotFound(
            f"{task.name} has no topic with scores by {column.key}, so there is nothing to compare."
        )
    scores = scores_of(session, source, column.key, column.version, ids)
    missing = [run.name for run in runs if run.run_id not in scores]
    if run_ids is not None and missing:
        raise Invalid(
            f"{', '.join(missing)} {'has' if len(missing) == 1 else 'have'} no score by {column.key} under "
            f"qrels revision {shown.basis.revision}; compare runs that were scored under the same revision."
        )
    scored = tuple(run for run in runs if run.run_id in scores)
    topics = source.topics
    return ScoreTable(
        of=task,
        basis=shown.basis,
        source=source,
        measure=column,
        runs=scored,
        scores=np.array([scores[run.run_id] for run in scored]).reshape(len(scored), len(topics)),
        access=access,
    )


def require_details(access: TaskAccess) -> None:
    """Raise NotShown while topic scores are hidden, because results would reveal them."""
    if not access.details:
        raise NotShown(f"{access.why} Comparisons of runs are shown when it closes.")


def _column(edition: Edition, measure: str | None) -> MeasureColumn:
    keys = [measure["key"] for measure in edition.measures]
    key = edition.primary_measure if not measure else parse(measure).key
    if key not in keys:
        raise UnknownMeasure(f"{key} is not on this board; its measures are {', '.join(keys)}.")
    if why := refusal(parse(key).measure):
        raise UnknownMeasure(why)
    return column(parse(key))


def named_runs(
    session: Session, viewer: Viewer, task: Task, access: TaskAccess, *conditions: ColumnElement[bool]
) -> tuple[ComparedRun, ...]:
    """Runs of the visible phase that meet the conditions and are not withdrawn, by id."""
    rows = session.execute(
        shown_names.with_teams(
            select(Run.id, Run.name, Run.team_id, Run.kind, Run.ranking_sha256, Run.topics, *NAMED_RUN)
        )
        .where(Run.task_id == task.id, Run.withdrawn_at.is_(None), *of_phase(access), *conditions)
        .order_by(Run.id)
    ).all()
    if not rows:
        return ()
    left_out = not_chosen(session, task)
    names = shown_names.names_of_runs(session, viewer, task, rows)
    return tuple(
        ComparedRun(
            run_id=row.id,
            name=names.run(row.id, row.name),
            team=names.team(row.team_id),
            team_id=row.team_id,
            kind=shown_kind(row.id, row.kind, left_out),
            ranking_sha256=row.ranking_sha256,
            topics=row.topics,
        )
        for row in rows
    )


def _runs(
    session: Session, viewer: Viewer, task: Task, access: TaskAccess, run_ids: Collection[int] | None
) -> tuple[ComparedRun, ...]:
    if run_ids is None:
        return named_runs(session, viewer, task, access)
    runs = named_runs(session, viewer, task, access, Run.id.in_(set(run_ids)))
    missing = set(run_ids) - {run.run_id for run in runs}
    if missing:
        place = f"the phase {access.phase} of {task.name}" if access.phase else task.name
        raise NotFound(f"{place[:1].upper()}{place[1:]} has no run {', '.join(map(str, sorted(missing)))}.")
    return runs


def request(table: ScoreTable, procedure: str, method: str) -> Request:
    """The request for a procedure on all runs of a score table."""
    return Request(
        procedure=procedure,
        method=method,
        source=table.source,
        measure=table.measure.key,
        measure_version=table.measure.version,
        run_ids=tuple(run.run_id for run in table.runs),
        rankings=tuple(run.ranking_sha256 for run in table.runs),
    )


BoolArray = npt.NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Field:
    """Scores of runs (rows, by name) on topics (columns, in the order of source.topics) by one measure."""

    measure: MeasureColumn
    measures: tuple[MeasureColumn, ...]
    """Measures with a direction."""
    basis: Basis
    source: Source
    runs: tuple[ComparedRun, ...]
    scores: FloatArray
    """(runs, topics), as the measure prints them."""
    own: Mapping[str, FloatArray] = dataclasses_field(default_factory=dict)
    """Measure -> scores of the requested run on all topics of the revision."""

    @property
    def sign(self) -> int:
        """-1 where lower is better, else 1."""
        return self.measure.sign

    @cached_property
    def place(self) -> dict[str, int]:
        """Topic id -> its column."""
        return {topic: index for index, topic in enumerate(self.source.topics)}

    @cached_property
    def ranked(self) -> BoolArray:
        """Whether each run is ranked, (runs,)."""
        return np.array([run.kind == RANKED_KIND for run in self.runs], dtype=np.bool_)

    @cached_property
    def compared(self) -> BoolArray:
        """Mask of the runs that measure a topic, (runs,): ranked runs, or all if none is ranked."""
        return self.ranked if self.ranked.any() else np.ones(len(self.runs), dtype=np.bool_)

    @property
    def words(self) -> str:
        """The runs that measure a topic, as text: `14 ranked runs`."""
        count = int(self.compared.sum())
        kind = "ranked " if self.ranked.any() else ""
        return f"{count:,} {kind}{'run' if count == 1 else 'runs'}"


def field(
    session: Session,
    viewer: Viewer,
    task: Task,
    access: TaskAccess,
    shown: ShownEdition,
    measure: str | None = None,
    run_id: int | None = None,
) -> Field | None:
    """The field by a measure (default: primary), with all scores of one run on request.

    None while topic scores are hidden and without judgments. Raises UnknownMeasure for a measure that is not
    on the board or has no direction.
    """
    if shown.edition is None or shown.basis is None or shown.source is None or not access.details:
        return None
    measures = fields_columns_of(shown.edition)
    column = chosen(measures, shown.edition.primary_measure, measure)
    runs = runs_of(session, viewer, task, access)
    source = evaluations_shown.narrowed(shown.source, shown.edition, column.key)
    ids, own = [run.run_id for run in runs], dict[str, FloatArray]()
    if run_id is None:
        scores = scores_of(session, source, column.key, column.version, ids)
    else:
        scores, own = both_scores(session, source, shown.edition, (column.key, column.version), ids, run_id)
    scored = tuple(run for run in runs if run.run_id in scores)
    table = np.array([scores[run.run_id] for run in scored], dtype=np.float64)
    return Field(
        measure=column,
        measures=tuple(measure for measure in measures if measure.direction != "none"),
        basis=shown.basis,
        source=source,
        runs=scored,
        scores=table.reshape(len(scored), len(source.topics)),
        own=own,
    )


def fields_columns_of(edition: Edition) -> tuple[MeasureColumn, ...]:
    """The measures of an edition, in the board's order."""
    return tuple(column(parse(measure["key"])) for measure in edition.measures)


def chosen(measures: tuple[MeasureColumn, ...], primary: str, measure: str | None) -> MeasureColumn:
    """The requested measure, by default the primary one; raises UnknownMeasure."""
    columns = {column.key: column for column in measures}
    key = primary if measure is None else parse(measure).key
    if key not in columns:
        raise UnknownMeasure(f"{key} is not on this board; its measures are {', '.join(columns)}.")
    if columns[key].direction == "none":
        raise UnknownMeasure(
            f"{key} has no direction (higher or lower is better), so it gives no topic difficulty."
        )
    return columns[key]


def promised(task: Task) -> MeasureColumn:
    """The task's primary measure, for use without topic scores."""
    return column(parse(task.primary_measure))


def runs_of(session: Session, viewer: Viewer, task: Task, access: TaskAccess) -> tuple[ComparedRun, ...]:
    """The task's runs by name, without withdrawn ones."""
    return tuple(sorted(named_runs(session, viewer, task, access), key=lambda run: run.name.encode()))
