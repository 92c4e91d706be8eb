"""Heat map of the scores of all runs on all topics: ordered rows and columns, in pages."""

import hashlib
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from sqlalchemy import select
from sqlalchemy.orm import Session

from leaderboard.boards.page.scores import table as scores_table
from leaderboard.boards.page.scores.table import ComparedRun, Field, require_details
from leaderboard.core import policy
from leaderboard.core.policy import TaskAccess, Viewer
from leaderboard.db.tables import Task, Topic
from leaderboard.errors import Invalid, NotFound
from leaderboard.scoring.ops.evaluations.shown import FloatArray, shown_edition
from leaderboard.scoring.ops.scored_topics import MeasureColumn, TaskHead
from leaderboard.scoring.ops.statistics import requests
from leaderboard.stats.orders.rbo_all_pairs import alike
from leaderboard.tables.record import Column, Files, Place, Table
from leaderboard.trec.read.lines import bytes_of

ROWS = {"score": "mean score", "name": "name", "team": "team", "similarity": "similarity"}
COLUMNS = {
    "order": "task order",
    "difficulty": "difficulty (easiest first)",
    "id": "topic id",
    "similarity": "similarity",
}
"""Orders of runs and of topics, by name in the address; a topic or a run may set them instead."""
MOST_ROWS = 150
MOST_CELLS = 9_000
FEWEST_COLUMNS = 20
WIDEST = 0.95
SIMILARITY_VERSION = 1
MOST_ALIKE = 500
"""Maximum number of rows or columns ordered by similarity within a request."""

Order = npt.NDArray[np.intp]


@dataclass(frozen=True, slots=True)
class Choice:
    """Settings from the address; topic orders the rows, run orders the columns."""

    measure: str | None = None
    rows: str = "score"
    columns: str = "order"
    topic: str = ""
    run: int | None = None
    difference: bool = False
    runs_page: int = 1
    topics_page: int = 1
    whole: bool = False
    """Without paging, for files."""


@dataclass(frozen=True, slots=True)
class MapTopic:
    """A column: a topic with the median score of the compared runs."""

    topic_id: str
    title: str
    median: float | None


@dataclass(frozen=True, slots=True)
class PageSpan:
    """The shown range of rows or columns, with page number and number of pages."""

    first: int
    last: int
    total: int
    page: int
    pages: int


NOTHING = PageSpan(first=1, last=0, total=0, page=1, pages=1)


@dataclass(frozen=True, eq=False, kw_only=True)
class HeatMap(TaskHead):
    """The shown part of the scores, in the requested orders."""

    measure: MeasureColumn
    measures: tuple[MeasureColumn, ...]
    choice: Choice
    field: str
    """The runs of the medians, as text."""
    runs: tuple[ComparedRun, ...]
    topics: tuple[MapTopic, ...]
    means: tuple[float, ...]
    """Mean over all topics of each shown run."""
    scores: FloatArray
    """(runs, topics), as the measure prints them."""
    values: FloatArray
    """The shown values, minus each topic's median if differences are requested."""
    low: float
    high: float
    """Limits of the scores of all runs and topics; 0 and 1 if all are within."""
    widest: float
    """A difference from the median that few exceed."""
    rows: PageSpan
    columns: PageSpan


def heat_map(session: Session, viewer: Viewer, slug: str, choice: Choice) -> HeatMap:
    """The scores of a task's runs on its topics by a measure.

    Raises NotFound while topic scores are hidden and for a topic or run that is not in the map,
    UnknownMeasure, and Invalid for an unknown order.
    """
    task, access = policy.visible_task(session, viewer, slug)
    require_details(access)
    _check(choice)
    shown = shown_edition(session, task, access)
    field = scores_table.field(session, viewer, task, access, shown, choice.measure)
    if field is None:
        return _empty(task, access, choice)
    topics = _topics(session, task, field)
    down, across = _row_order(field, choice), _column_order(field, topics, choice)
    rows, columns = _spans(len(down), len(across), choice)
    down, across = down[rows.first - 1 : rows.last], across[columns.first - 1 : columns.last]
    medians = _medians(field)
    scores = field.scores[np.ix_(down, across)]
    return HeatMap(
        of=task,
        basis=field.basis,
        measure=field.measure,
        measures=field.measures,
        choice=choice,
        field=field.words,
        runs=tuple(field.runs[at] for at in down.tolist()),
        topics=tuple(
            MapTopic(topic, topics[topic], float(medians[at]) if len(field.runs) else None)
            for at, topic in ((at, field.source.topics[at]) for at in across.tolist())
        ),
        means=tuple(field.scores[down].mean(axis=1).tolist()) if topics else (0.0,) * len(down),
        scores=scores,
        values=scores - medians[across] if choice.difference else scores,
        low=min(0.0, float(field.scores.min(initial=0.0))),
        high=max(1.0, float(field.scores.max(initial=1.0))),
        widest=_widest(field.scores - medians),
        rows=rows,
        columns=columns,
        access=access,
    )


def _check(choice: Choice) -> None:
    for name, order, allowed in (("rows", choice.rows, ROWS), ("columns", choice.columns, COLUMNS)):
        if order not in allowed:
            raise Invalid(
                f"{name.title()} cannot be ordered by {order!r}; choose one of {', '.join(allowed)}."
            )


def _empty(task: Task, access: TaskAccess, choice: Choice) -> HeatMap:
    """The heat map of a task without judgments."""
    return HeatMap(
        of=task,
        access=access,
        basis=None,
        measure=scores_table.promised(task),
        measures=(),
        choice=choice,
        field="",
        runs=(),
        topics=(),
        means=(),
        scores=np.zeros((0, 0)),
        values=np.zeros((0, 0)),
        low=0.0,
        high=1.0,
        widest=0.0,
        rows=NOTHING,
        columns=NOTHING,
    )


def _topics(session: Session, task: Task, field: Field) -> dict[str, str]:
    """Topic id -> title of the topics that have scores, in the task's order."""
    rows = session.execute(
        select(Topic.topic_id, Topic.title).where(Topic.task_id == task.id).order_by(Topic.position)
    )
    return {row.topic_id: row.title for row in rows if row.topic_id in field.place}


def _medians(field: Field) -> FloatArray:
    """Median score of the compared runs on each topic, (topics,); 0 without runs."""
    scores = field.scores[field.compared]
    medians: FloatArray = np.median(scores, axis=0) if len(scores) else np.zeros(field.scores.shape[1])
    return medians


def _widest(differences: FloatArray) -> float:
    """95th percentile of the absolute differences, so that outliers do not flatten the colours."""
    return float(np.quantile(np.abs(differences), WIDEST)) if differences.size else 0.0


def _row_order(field: Field, choice: Choice) -> Order:
    """Indices of the runs from the first row down, ties by name."""
    better = field.sign * field.scores
    if choice.topic:
        if choice.topic not in field.place:
            raise NotFound(f"Topic {choice.topic!r} is not in this heat map.", topic=choice.topic)
        return np.argsort(-better[:, field.place[choice.topic]], kind="stable")
    if not better.size or choice.rows == "name":
        return np.arange(len(field.runs))
    if choice.rows == "score":
        return np.argsort(-better.mean(axis=1), kind="stable")
    if choice.rows == "team":
        names = [(run.team.casefold(), run.name) for run in field.runs]
        return np.array(sorted(range(len(names)), key=names.__getitem__), dtype=np.intp)
    if choice.rows == "similarity" and len(better) <= MOST_ALIKE:
        return _alike(better - better.mean(axis=0))
    return np.arange(len(field.runs))


def _column_order(field: Field, topics: dict[str, str], choice: Choice) -> Order:
    """Indices of the topics from the first column on, ties in task order."""
    order = np.array([field.place[topic] for topic in topics], dtype=np.intp)
    better = field.sign * field.scores
    if choice.run is not None:
        ids = [run.run_id for run in field.runs]
        if choice.run not in ids:
            raise NotFound(f"Run {choice.run} is not in this heat map.", run=choice.run)
        return order[np.argsort(-better[ids.index(choice.run), order], kind="stable")]
    if choice.columns == "difficulty":
        return order[np.argsort(-field.sign * _medians(field)[order], kind="stable")]
    if choice.columns == "id":
        return np.array([field.place[topic] for topic in sorted(topics, key=_natural)], dtype=np.intp)
    if choice.columns == "similarity" and better.size and len(order) <= MOST_ALIKE:
        return order[_alike((better - better.mean(axis=1, keepdims=True))[:, order].T)]
    return order


def _alike(values: FloatArray) -> Order:
    """Row order by similarity, cached because it is slow for hundreds of rows."""
    facts = (
        f"similarity {SIMILARITY_VERSION} {values.shape} ".encode() + np.ascontiguousarray(values).tobytes()
    )
    digest = hashlib.sha256(facts).hexdigest()
    result = requests.kept.get(digest)
    if result is None:
        result = requests.kept.put(digest, {"order": alike(values)})
    return result["order"].astype(np.intp)


def _natural(topic_id: str) -> tuple[int, int, bytes]:
    """Sort key: numbers by value, before other text."""
    is_number = topic_id.isascii() and topic_id.isdigit()
    return (0, int(topic_id), bytes_of(topic_id)) if is_number else (1, 0, bytes_of(topic_id))


def _spans(rows: int, columns: int, choice: Choice) -> tuple[PageSpan, PageSpan]:
    """The shown range of rows or columns."""
    if choice.whole:
        return PageSpan(1, rows, rows, 1, 1), PageSpan(1, columns, columns, 1, 1)
    height = min(rows, MOST_ROWS)
    width = max(FEWEST_COLUMNS, MOST_CELLS // max(height, 1))
    return _span(rows, MOST_ROWS, choice.runs_page), _span(columns, width, choice.topics_page)


def _span(total: int, most: int, page: int) -> PageSpan:
    pages = max(1, -(-total // most))
    page = min(max(page, 1), pages)
    return PageSpan((page - 1) * most + 1, min(page * most, total), total, page, pages)


@dataclass(frozen=True, slots=True)
class MapRow:
    """A run with its mean and its value on every topic of the map, in their order."""

    run: ComparedRun
    mean: float
    values: list[float]


def map_rows(page: HeatMap) -> list[MapRow]:
    """Rows of the heat map, in order."""
    return [MapRow(*row) for row in zip(page.runs, page.means, page.values.tolist(), strict=True)]


def facts(page: HeatMap) -> dict[str, Any]:
    """The whole map as plain values at full precision."""
    return {
        "task": page.slug,
        "revision": page.basis.revision if page.basis else None,
        "measure": page.measure.key,
        "difference": page.choice.difference,
        "topics": [topic.topic_id for topic in page.topics],
        "medians": [topic.median for topic in page.topics],
        "runs": [
            {
                "run": row.run.name,
                "run_id": row.run.run_id,
                "team": row.run.team,
                "mean": row.mean,
                "values": row.values,
            }
            for row in map_rows(page)
        ],
    }


def table(page: HeatMap) -> Table[MapRow]:
    """The map with a column for each topic."""
    columns: list[Column[MapRow]] = [
        Column("run", lambda row: row.run.name),
        Column("run_id", lambda row: row.run.run_id, shown=Place.DATA),
        Column("team", lambda row: row.run.team),
        Column("mean", lambda row: row.mean, digits=2),
        *(_topic_column(topic.topic_id, at) for at, topic in enumerate(page.topics)),
    ]
    return Table(f"{page.slug}-heatmap", _caption(page), columns, map_rows(page))


FILES = Files(facts=facts, tables={"map": table})


def _topic_column(topic_id: str, at: int) -> Column[MapRow]:
    return Column(topic_id, lambda row: row.values[at], digits=2)


def _caption(page: HeatMap) -> str:
    if page.basis is None:
        return f"Runs of {page.task} by topic: no scores yet."
    what = page.measure.key
    if page.choice.difference:
        what += f" minus its median over {page.field}"
    return (
        f"{what} of {len(page.runs)} runs on {len(page.topics)} topics of {page.task} "
        f"under {page.basis.qrels}."
    )
