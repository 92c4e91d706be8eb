"""The scores of a task's runs on its topics by one measure: what every comparison starts from."""

from collections.abc import Collection
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy import typing as npt
from sqlalchemy import ColumnElement, select
from sqlalchemy.orm import Session

from leaderboard.db.tables import Edition, Run, Task
from leaderboard.errors import Invalid, NotFound, UnknownMeasure
from leaderboard.measures.naming import parse
from leaderboard.services import policy, shown_names
from leaderboard.services.boards.rows import of_phase
from leaderboard.services.evaluations import choices
from leaderboard.services.evaluations import shown as evaluations_shown
from leaderboard.services.evaluations.choices import RANKED_KIND, MeasureColumn, column
from leaderboard.services.evaluations.shown import (
    Basis,
    FloatArray,
    ShownEdition,
    Source,
    scores_of,
    shown_edition,
)
from leaderboard.services.policy import Sight, Viewer
from leaderboard.services.runs.facts import RunName
from leaderboard.services.statistics.requests import Request, refusal
from leaderboard.services.tasks.scored_topics import TaskHead


@dataclass(frozen=True, slots=True, kw_only=True)
class ComparedRun(RunName):
    """A run that is compared, by id; its ranking's digest tells the same ranking from another one."""

    team_id: int
    ranking_sha256: str
    topics: int = 0
    """How many it has rankings for."""


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
        """The scores with higher being better, (runs, topics)."""
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
    """Those of the measures that runs can be compared by."""
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
    """Scores of the runs asked for (all that are scored, where None), under the edition that is shown.

    All of them are scores of one edition, so of one revision, dialect, topic set and measure version.
    Raises NotFound for an unknown task or edition or run, and while scores by topic are held back;
    UnknownMeasure for a measure that is not on the board or that runs cannot be compared by; Invalid
    for a run that has no score here.
    """
    task, sight = policy.visible_task(session, viewer, slug)
    require_details(sight)
    shown = shown_edition(session, task, sight, edition)
    if shown.edition is None or shown.basis is None or shown.source is None:
        raise NotFound(f"{task.name} has no judgments yet, so there is nothing to compare.")
    column = _column(shown.edition, measure)
    runs = _runs(session, viewer, task, sight, run_ids)
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
            f"qrels revision {shown.basis.revision}: compare runs that were scored under the same revision."
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
        sight=sight,
    )


def require_details(sight: Sight) -> None:
    """Raise NotFound while scores by topic are held back: what comes of them would tell of them."""
    if not sight.details:
        raise NotFound(f"{sight.why} Comparisons of runs are shown when it closes.")


def _column(edition: Edition, measure: str | None) -> MeasureColumn:
    keys = [measure["key"] for measure in edition.measures]
    key = edition.primary_measure if measure is None else parse(measure).key
    if key not in keys:
        raise UnknownMeasure(f"{key} is not on this board; its measures are {', '.join(keys)}.")
    if why := refusal(parse(key).measure):
        raise UnknownMeasure(why)
    return column(parse(key))


def named_runs(
    session: Session, viewer: Viewer, task: Task, sight: Sight, *conditions: ColumnElement[bool]
) -> tuple[ComparedRun, ...]:
    """The runs of the phase that is seen that are not withdrawn and meet the conditions, by id."""
    rows = session.execute(
        select(Run.id, Run.name, Run.team_id, Run.kind, Run.ranking_sha256, Run.topics)
        .where(Run.task_id == task.id, Run.withdrawn_at.is_(None), *of_phase(sight), *conditions)
        .order_by(Run.id)
    ).all()
    if not rows:
        return ()
    left_out = choices.not_chosen(session, task)
    names = shown_names.shown_names(session, viewer, task)
    return tuple(
        ComparedRun(
            run_id=row.id,
            name=names.run(row.id, row.name),
            team=names.team(row.team_id),
            team_id=row.team_id,
            kind=choices.shown_kind(row.id, row.kind, left_out),
            ranking_sha256=row.ranking_sha256,
            topics=row.topics,
        )
        for row in rows
    )


def _runs(
    session: Session, viewer: Viewer, task: Task, sight: Sight, run_ids: Collection[int] | None
) -> tuple[ComparedRun, ...]:
    if run_ids is None:
        return named_runs(session, viewer, task, sight)
    runs = named_runs(session, viewer, task, sight, Run.id.in_(set(run_ids)))
    missing = set(run_ids) - {run.run_id for run in runs}
    if missing:
        place = f"the phase {sight.phase} of {task.name}" if sight.phase else task.name
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
    """All that have a better and a worse."""
    basis: Basis
    source: Source
    runs: tuple[ComparedRun, ...]
    scores: FloatArray
    """(runs, topics), as the measure prints them."""

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
        """Which runs have a rank, (runs,)."""
        return np.array([run.kind == RANKED_KIND for run in self.runs], dtype=np.bool_)

    @cached_property
    def compared(self) -> BoolArray:
        """The runs a topic is measured by, (runs,): the ranked ones, all where none is ranked."""
        return self.ranked if self.ranked.any() else np.ones(len(self.runs), dtype=np.bool_)

    @property
    def words(self) -> str:
        """Which runs a topic is measured by: `14 ranked runs`."""
        count = int(self.compared.sum())
        kind = "ranked " if self.ranked.any() else ""
        return f"{count:,} {kind}{'run' if count == 1 else 'runs'}"


def field(
    session: Session,
    viewer: Viewer,
    task: Task,
    sight: Sight,
    shown: ShownEdition,
    measure: str | None = None,
) -> Field | None:
    """The field by a measure (the primary one unless said otherwise).

    None where scores by topic are held back and where there are no judgments. Raises UnknownMeasure for
    a measure that is not on the board or has no better and worse.
    """
    if shown.edition is None or shown.basis is None or shown.source is None or not sight.details:
        return None
    measures = fields_columns_of(shown.edition)
    column = chosen(measures, shown.edition.primary_measure, measure)
    runs = runs_of(session, viewer, task, sight)
    source = evaluations_shown.narrowed(shown.source, shown.edition, column.key)
    scores = scores_of(session, source, column.key, column.version, [run.run_id for run in runs])
    scored = tuple(run for run in runs if run.run_id in scores)
    table = np.array([scores[run.run_id] for run in scored], dtype=np.float64)
    return Field(
        measure=column,
        measures=tuple(measure for measure in measures if measure.direction != "none"),
        basis=shown.basis,
        source=source,
        runs=scored,
        scores=table.reshape(len(scored), len(source.topics)),
    )


def fields_columns_of(edition: Edition) -> tuple[MeasureColumn, ...]:
    """The measures of an edition, in the board's order."""
    return tuple(column(parse(measure["key"])) for measure in edition.measures)


def chosen(measures: tuple[MeasureColumn, ...], primary: str, measure: str | None) -> MeasureColumn:
    """The measure asked for, the primary one where none is; raises UnknownMeasure."""
    columns = {column.key: column for column in measures}
    key = primary if measure is None else parse(measure).key
    if key not in columns:
        raise UnknownMeasure(f"{key} is not on this board; its measures are {', '.join(columns)}.")
    if columns[key].direction == "none":
        raise UnknownMeasure(f"{key} has no better or worse, so no topic is hard or easy by it.")
    return columns[key]


def promised(task: Task) -> MeasureColumn:
    """The task's primary measure, where no edition shows scores by topic."""
    return column(parse(task.primary_measure))


def runs_of(session: Session, viewer: Viewer, task: Task, sight: Sight) -> tuple[ComparedRun, ...]:
    """The task's runs by name, without withdrawn ones."""
    return tuple(sorted(named_runs(session, viewer, task, sight), key=lambda run: run.name.encode()))
