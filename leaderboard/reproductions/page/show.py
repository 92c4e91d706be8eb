"""One reproduction level by level: its topics, its effect among all of the task, what its headers say."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Annotated, Any

import numpy as np
from sqlalchemy import select
from sqlalchemy.orm import Session

from leaderboard.boards.page.scores import table as scores_table
from leaderboard.boards.page.scores.table import (
    ComparedRun,
    ScoreTable,
    comparable,
    require_details,
    score_table,
)
from leaderboard.core import policy, shown_names
from leaderboard.core.policy import Viewer
from leaderboard.core.shown_names import ShownNames
from leaderboard.db.tables import Edition, Phase, Run, Task, Topic
from leaderboard.errors import Forbidden, NotFound, UnknownMeasure
from leaderboard.reproductions import ops as reproductions
from leaderboard.reproductions.ops import KIND, ReproductionLink
from leaderboard.scoring.ops import run_facts as facts
from leaderboard.scoring.ops.evaluations.shown import FloatArray, shown_edition
from leaderboard.scoring.ops.scored_topics import MeasureColumn, TaskHead, column_of
from leaderboard.scoring.ops.statistics import prepared
from leaderboard.scoring.ops.statistics.prepared import AskedOrder
from leaderboard.scoring.ops.statistics.requests import MEASURE, WaitingResult, computing
from leaderboard.stats.reproductions.documents import DocumentOrder
from leaderboard.stats.reproductions.levels import (
    Levels,
    RunLevels,
    Threshold,
    Thresholds,
    largest_differences,
    replicated,
    same_topics,
)
from leaderboard.stats.reproductions.numbers import LevelRow, level_rows, threshold_lines
from leaderboard.tables.record import Place, Shown
from leaderboard.trec.facts import leaves


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
    """A task, or a phase of one, whose scores by topic are visible to the viewer.

    table is None if its board lacks the measure or scores by it; why gives the reason.
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

    A task whose scores by topic are hidden from the viewer is left out, and one it may not know of.
    """
    stored = {row.run_id: row for row in _stored(session, set(run_ids))}
    tasks: dict[tuple[int, int], ReadableTask] = {}
    for row in stored.values():
        key = row.task_id, row.phase_id
        if key in tasks:
            continue
        is_own = row.task_id == own.of.id and own.access.phase_id in (None, row.phase_id)
        if is_own:
            tasks[key] = _own(session, viewer, own)
        elif (read := _other(session, viewer, row, measure)) is not None:
            tasks[key] = read
    return ReadableRuns(stored, tasks)


def _thresholds(stored: Mapping[str, Any] | None) -> Thresholds:
    """The thresholds of a task's setting, or the defaults.

    >>> _thresholds({"ktu": [0.1, 0.6], "margin": 0.05}).ktu
    Threshold(same=0.1, close=0.6)
    """
    thresholds: dict[str, Any] = {
        name: Threshold(*value) if isinstance(value, list) else value
        for name, value in (stored or {}).items()
    }
    return Thresholds(**thresholds)


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
    """A run's phase of another task; None where the viewer sees no scores by topic of it."""
    asking = replace(viewer, phase=row.phase, edition=None)
    try:
        task, access = policy.visible_task(session, asking, row.slug)
        require_details(access)
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


Orders = Mapping[str, DocumentOrder | WaitingResult]
"""Digest of the request -> the order of documents, or its progress."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PairRow:
    """A run and the run it reproduces; levels is None if they cannot be compared, and why gives the reason.

    is_replication: the original is a run of another task, so only effects and means are compared. The
    baselines are None where none are named, or one of them cannot be compared: why_no_baseline.
    """

    run: NamedRun
    original: NamedRun
    baseline: NamedRun | None
    original_baseline: NamedRun | None
    is_replication: bool
    levels: Levels | None
    why: str = ""
    why_no_baseline: str = ""
    waiting: tuple[WaitingResult, ...] = ()
    """The document rankings not compared yet."""

    @property
    def is_known(self) -> bool:
        """Whether all levels that there can be are known."""
        return self.levels is not None and not self.waiting


def pair_rows(
    session: Session,
    viewer: Viewer,
    links: Sequence[ReproductionLink],
    own: ScoreTable,
    thresholds: Thresholds,
    with_orders: Collection[int] = (),
) -> list[PairRow]:
    """A row for each link whose runs the viewer can compare, by names; own: the scores of the page's task.

    with_orders: the runs whose document rankings are also compared. A replication is left out where the
    viewer knows one of its runs by a pseudonym only: the name of the other may reveal whose it is.
    """
    ids = {run_id for link in links for pair in link.pairs for run_id in pair}
    runs = readable_runs(session, viewer, ids, own.measure.key, own)
    shown = [link for link in links if _is_shown(link, runs)]
    asked = {
        pair: order
        for link in shown
        if link.run_id in with_orders and not link.is_replication
        for pair in link.pairs
        if (order := _asked(pair, runs)) is not None
    }
    by_digest = prepared.known_orders(session, list(asked.values())) if asked else {}
    orders = {pair: by_digest[order.request.digest] for pair, order in asked.items()}
    rows = [_row(link, runs, orders, thresholds) for link in shown]
    return sorted(rows, key=lambda row: (row.original.task, row.original.name, row.run.task, row.run.run_id))


def _is_shown(link: ReproductionLink, runs: ReadableRuns) -> bool:
    run, original = runs.name(link.run_id), runs.name(link.of.original)
    if run is None or original is None or run.is_withdrawn:
        return False
    named = [runs.name(run_id) for pair in link.pairs for run_id in pair]
    return not link.is_replication or not any(named_run is None or named_run.is_masked for named_run in named)


def _asked(pair: tuple[int, int], runs: ReadableRuns) -> AskedOrder | None:
    scored, table = [runs.scored(run_id) for run_id in pair], runs.table(pair[0])
    original, other = scored
    if table is None or original is None or other is None or runs.table(pair[1]) is not table:
        return None
    return prepared.asked_order(table.source, original[0], other[0])


def _row(
    link: ReproductionLink,
    runs: ReadableRuns,
    orders: Mapping[tuple[int, int], DocumentOrder | WaitingResult],
    thresholds: Thresholds,
) -> PairRow:
    advanced, *baselines = link.pairs
    run, original = runs.name(link.run_id), runs.name(link.of.original)
    assert run is not None, "rows that are not shown were left out"
    assert original is not None, "as above"
    new = _levels(advanced, runs, orders, link)
    base = _levels(baselines[0], runs, orders, link) if baselines else None
    lost = next((why for pair in baselines if (why := _why(pair, runs))), "")
    is_whole = not baselines or base is not None
    return PairRow(
        run=run,
        original=original,
        baseline=runs.name(link.of.baseline) if is_whole else None,
        original_baseline=runs.name(link.of.original_baseline) if is_whole else None,
        is_replication=link.is_replication,
        levels=None if new is None else Levels(base, new, thresholds),
        why=_why(advanced, runs) if new is None else "",
        why_no_baseline="" if is_whole else lost,
        waiting=tuple(order for pair in link.pairs if isinstance(order := orders.get(pair), WaitingResult)),
    )


def _levels(
    pair: tuple[int, int],
    runs: ReadableRuns,
    orders: Mapping[tuple[int, int], DocumentOrder | WaitingResult],
    link: ReproductionLink,
) -> RunLevels | None:
    original, reproduction = (runs.scored(run_id) for run_id in pair)
    if original is None or reproduction is None:
        return None
    if link.is_replication:
        return replicated(original[1], reproduction[1])
    if runs.table(pair[0]) is not runs.table(pair[1]):
        return None
    order = orders.get(pair)
    return same_topics(original[1], reproduction[1], order if isinstance(order, DocumentOrder) else None)


def _why(pair: tuple[int, int], runs: ReadableRuns) -> str:
    """The reason why two runs cannot be compared; empty if they can."""
    for run_id in pair:
        if runs.scored(run_id) is None:
            named = runs.name(run_id)
            return f"{named.name} {runs.why(run_id)}" if named else "a baseline is hidden"
    return ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReproductionHead(TaskHead):
    """The head of a page of reproductions, by one measure."""

    measure: MeasureColumn
    measures: tuple[MeasureColumn, ...]
    """Those that runs can be compared by."""
    thresholds: Thresholds

    @property
    def threshold_lines(self) -> list[str]:
        """The thresholds, one line per number."""
        return threshold_lines(self.thresholds, same_topics=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class ReproductionsPage(ReproductionHead):
    """A task's reproductions, by the names of their originals."""

    rows: tuple[PairRow, ...]
    waiting: tuple[WaitingResult, ...]
    """Document rankings not compared yet."""


@dataclass(frozen=True, slots=True)
class ComparedTask:
    """A ranking task with its scores by the measure of the page, and what its runs reproduce."""

    task: Task
    table: ScoreTable
    measures: tuple[MeasureColumn, ...]
    thresholds: Thresholds
    links: Sequence[ReproductionLink]

    def head(self) -> dict[str, Any]:
        """The fields of ReproductionHead by name."""
        return {
            **self.table.head,
            "measure": self.table.measure,
            "measures": self.measures,
            "thresholds": self.thresholds,
        }


def compared_task(session: Session, viewer: Viewer, slug: str, measure: str | None) -> ComparedTask:
    """The common data of the reproduction pages.

    Raises NotFound for an unknown task, for one whose runs are not rankings, and while scores by topic are
    hidden; UnknownMeasure for a measure that is not on the board.
    """
    table = score_table(session, viewer, slug, measure)
    task = table.of
    if task.kind != KIND:
        raise NotFound(f"{task.name} takes {task.kind}; only rankings can be reproduced.")
    edition = session.get_one(Edition, table.source.edition_id)
    return ComparedTask(
        task=task,
        table=table,
        measures=comparable(scores_table.fields_columns_of(edition)),
        thresholds=_thresholds(task.reproduction_thresholds),
        links=reproductions.links_of(session, task.id, table.access.phase_id),
    )


def reproductions_page(
    session: Session, viewer: Viewer, slug: str, measure: str | None = None
) -> ReproductionsPage:
    """A task's reproductions by a measure, by default the primary one; raises as compared_task."""
    try:
        of = compared_task(session, viewer, slug, measure)
    except NotFound:
        if (empty := _without_board(session, viewer, slug)) is None:
            raise
        return empty
    own = {link.run_id for link in of.links}
    rows = pair_rows(session, viewer, of.links, of.table, of.thresholds, with_orders=own)
    return ReproductionsPage(
        **of.head(),
        rows=tuple(rows),
        waiting=tuple(waiting_result for row in rows for waiting_result in row.waiting),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class ReproductionQuery:
    """The measure; by default the board's first."""

    measure: Annotated[str | None, MEASURE] = None


COMPUTE = computing(
    "compute_reproductions",
    lambda session, viewer, slug, asked: reproductions_page(session, viewer, slug, asked.measure).waiting,
    "/tasks/<slug>/reproductions",
    "reproductions.index",
    path="/tasks/<slug>/reproductions",
    summary="Start comparing the document orders of a task's reproductions",
    more="An evaluator computes those that are missing; then read them by GET.",
    record=ReproductionQuery,
)


def _without_board(session: Session, viewer: Viewer, slug: str) -> ReproductionsPage | None:
    """The page of a ranking task that has no board yet; None where that is not the reason."""
    task, access = policy.visible_task(session, viewer, slug)
    require_details(access)
    if task.kind != KIND or shown_edition(session, task, access).edition is not None:
        return None
    return ReproductionsPage(
        of=task,
        access=access,
        basis=None,
        measure=column_of(task.primary_measure),
        measures=(),
        thresholds=_thresholds(task.reproduction_thresholds),
        rows=(),
        waiting=(),
    )


MOST_TOPICS = 10
"""Maximum topics listed with the largest differences."""


@dataclass(frozen=True, slots=True)
class TopicScores:
    """A topic with the original's score and the reproduction's."""

    topic_id: str
    title: str
    original: float
    other: float

    @property
    def difference(self) -> float:
        """The reproduction's score less the original's."""
        return self.other - self.original


@dataclass(frozen=True, slots=True)
class DifferingFact:
    """One metadata key that differs between the original and its reproduction; "" means absent."""

    key: str
    original: str
    other: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ReproductionPage(ReproductionHead):
    """One reproduction by one measure."""

    row: PairRow
    levels: tuple[LevelRow, ...]
    topics: tuple[TopicScores, ...]
    """In the order of the revision; empty for a replication, whose topics are others."""
    largest: tuple[TopicScores, ...]
    """The topics that differ most, the most first."""
    metadata: tuple[DifferingFact, ...]
    plane: tuple[PairRow, ...]
    """Every reproduction of the task that has DRI and ER."""
    elsewhere: tuple[PairRow, ...]
    """Every reproduction of the same original, on any collection; empty if this is the only one."""

    @property
    def threshold_lines(self) -> list[str]:
        """The thresholds of the ratings in this reproduction."""
        return threshold_lines(self.thresholds, same_topics=not self.row.is_replication)


def reproduction_page(
    session: Session, viewer: Viewer, slug: str, run_id: int, measure: str | None = None
) -> ReproductionPage:
    """The reproduction that a run is, by a measure.

    Raises NotFound where the run belongs to another task or reproduces nothing that the viewer may compare it
    with, else as compared_task.
    """
    of = compared_task(session, viewer, slug, measure)
    link = next((link for link in of.links if link.run_id == run_id), None)
    if link is None:
        raise _nothing(of, run_id)
    others = reproductions.links_to(session, [link.of.original])
    every = {other_link.run_id: other_link for other_link in (*of.links, *others)}
    asked = [link.run_id]
    rows = pair_rows(session, viewer, list(every.values()), of.table, of.thresholds, with_orders=asked)
    by_run = {row.run.run_id: row for row in rows}
    if run_id not in by_run:
        raise _nothing(of, run_id)
    row = by_run[run_id]
    topics = _topics(session, of.table, link) if row.levels and not row.is_replication else ()
    same = [
        by_run[other_link.run_id]
        for other_link in others
        if other_link.run_id in by_run and _tried(other_link, link)
    ]
    own = {other_link.run_id for other_link in of.links}
    return ReproductionPage(
        **of.head(),
        row=row,
        levels=tuple(level_rows(row.levels)) if row.levels else (),
        topics=topics,
        largest=_largest(topics),
        metadata=_metadata(session, row.original, row.run) if row.levels else (),
        plane=tuple(
            pair_row for pair_row in rows if pair_row.run.run_id in own and place_of(pair_row) is not None
        ),
        elsewhere=tuple(same) if len(same) > 1 else (),
    )


def place_of(row: PairRow) -> tuple[float, float] | None:
    """DRI and ER of a reproduction; None where it has no effect, or one of both is not defined."""
    effect = row.levels.effect if row.levels else None
    if effect is None or effect.dri is None or effect.er is None:
        return None
    return effect.dri, effect.er


def _tried(other_link: ReproductionLink, link: ReproductionLink) -> bool:
    return other_link.of.original == link.of.original


def _nothing(of: ComparedTask, run_id: int) -> NotFound:
    return NotFound(f"{of.table.task} has no reproduction by run {run_id}.")


def _topics(session: Session, table: ScoreTable, link: ReproductionLink) -> tuple[TopicScores, ...]:
    places = {run.run_id: place for place, run in enumerate(table.runs)}
    if link.of.original not in places or link.run_id not in places:
        return ()
    titles = session.execute(select(Topic.topic_id, Topic.title).where(Topic.task_id == table.of.id))
    title = {row.topic_id: row.title for row in titles}
    sides = (table.scores[places[run_id]].tolist() for run_id in link.pairs[0])
    return tuple(
        TopicScores(topic, title.get(topic, ""), original, reproduction)
        for topic, original, reproduction in zip(table.topics, *sides, strict=True)
    )


def _largest(topics: tuple[TopicScores, ...]) -> tuple[TopicScores, ...]:
    if not topics:
        return ()
    original, other = (np.array([getattr(topic, side) for topic in topics]) for side in ("original", "other"))
    return tuple(topics[at] for at in largest_differences(original, other, MOST_TOPICS).tolist())


def _metadata(session: Session, original: NamedRun, run: NamedRun) -> tuple[DifferingFact, ...]:
    """The metadata differences: of their headers, or of the known facts if either has a pseudonym."""
    ids = [original.run_id, run.run_id]
    rows = session.execute(select(Run.id, Run.details).where(Run.id.in_(ids)))
    details = {row.id: row.details for row in rows}
    is_masked = original.is_masked or run.is_masked
    original_metadata, run_metadata = (_metadata_of(details[run_id], is_masked=is_masked) for run_id in ids)
    both = (
        (key, original_metadata.get(key, ""), run_metadata.get(key, ""))
        for key in dict.fromkeys([*original_metadata, *run_metadata])
    )
    return tuple(DifferingFact(*fact) for fact in both if fact[1] != fact[2])


def _metadata_of(details: Mapping[str, Any], *, is_masked: bool) -> dict[str, str]:
    if is_masked:
        return {fact.title: fact.text for fact in facts.nameless(facts.facts(details))}
    return {".".join(path): text for path, text in leaves(facts.header_of(details))}
