"""Equal scores in a run's rankings, and what their order does to the run's value by each measure."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from sqlalchemy.orm import Session

from leaderboard.measures.grammar import parse
from leaderboard.measures.judged import IntArray, Judged
from leaderboard.measures.ties.effects import UNORDERED, Tied, TieGroups, counts, effect, tie_groups, tied
from leaderboard.measures.ties.expectations import EXPECTED
from leaderboard.runs.page.head import RunHead, ScoredRun, caption, head_facts
from leaderboard.scoring.ops.evaluations import shown
from leaderboard.scoring.ops.evaluations.shown import Source, run_digest
from leaderboard.scoring.ops.rankings import alignment, blocks_of, compiled_judgments
from leaderboard.scoring.ops.scored_topics import MeasureColumn
from leaderboard.scoring.ops.statistics import requests
from leaderboard.stats.arrays import Arrays
from leaderboard.tables.record import Column, Files, Place, Table
from leaderboard.trec.qrels.align import remaining

GROUPS, EFFECT = 1, 1
"""Versions of the cached data: a new version invalidates the old data."""
BY_TOPIC = ("mean", "sum", "geometric")
"""Aggregates that are smallest where each topic's score is, and largest where that is; others say nothing."""


@dataclass(frozen=True, slots=True)
class UnderTies:
    """A run's score by a measure over all tie orders; expected is None if unknown.

    exact: whether all orders count; else only the drawn ones, and error is the standard error of
    expected.
    """

    column: MeasureColumn
    lowest: float
    expected: float | None
    highest: float
    error: float
    exact: bool


@dataclass(frozen=True, slots=True)
class RunTies:
    """The amount of ties in a run, and their effect on each measure they change."""

    topics: int
    of_topics: int
    documents: int
    largest: int
    measures: tuple[UnderTies, ...]
    left: tuple[str, ...]
    """Measures without an exact formula whose tie orders were not drawn."""


NO_TIES = RunTies(topics=0, of_topics=0, documents=0, largest=0, measures=(), left=())


@dataclass(frozen=True, slots=True, kw_only=True)
class TiesPage(RunHead):
    """The ties of a run; drawn: whether orders were drawn for measures without a formula."""

    ties: RunTies
    values: Mapping[str, float | None]
    """The run's own value by each measure."""
    order_differs: bool
    """Whether some topic is ordered differently with scores of 32 bits than with those of 64."""
    drawn: bool


def ties_page(session: Session, scored: ScoredRun, *, drawn: bool = False) -> TiesPage:
    """The ties of a run on the topics of the source; its stored rankings are read the first time only.

    drawn: whether orders are drawn for measures without a formula, which takes a third of a second each.
    """
    means = shown.means(session, scored.edition, scored.source.topic_set, [scored.run.id])
    values = means.get(scored.run.id, {})
    return TiesPage(
        **scored.seen.head(by_topic=True),
        ties=run_ties(session, scored, drawn=drawn),
        values={column.key: values.get(column.key) for column in scored.columns},
        order_differs=scored.run.order_differs,
        drawn=drawn,
    )


def facts(page: TiesPage) -> dict[str, Any]:
    """The page as plain values at full precision."""
    return {**head_facts(page), "ties": tie_facts(page.ties)}


def tie_facts(ties: RunTies) -> dict[str, Any]:
    """The amount of ties, and the lowest, expected and highest score by each measure."""
    names = ("lowest", "expected", "highest", "exact")
    return {
        "topics": ties.topics,
        "documents": ties.documents,
        "largest": ties.largest,
        "scores": {row.column.key: {name: getattr(row, name) for name in names} for row in ties.measures},
    }


def table(page: TiesPage) -> Table[UnderTies]:
    """Lowest, expected and highest value of the run over all orders of equal scores."""
    return Table(
        f"{page.name}-ties",
        caption(page, "Scores under ties"),
        [
            Column("measure", lambda row: row.column.key, "Measure"),
            Column(
                "score",
                lambda row: page.values[row.column.key],
                page.name,
                words=lambda row: _shown(row, page.values[row.column.key]),
                digits=4,
                shown=Place.PAGE,
            ),
            _end("lowest"),
            Column("expected", lambda row: row.expected, "Expected", words=_expected, digits=4),
            _end("highest"),
            Column("exact", lambda row: row.exact, "Method", words=_how),
        ],
        page.ties.measures,
    )


FILES = Files(facts=facts, tables={"ties": table})


def _end(name: str) -> Column[UnderTies]:
    return Column(
        name,
        lambda row: getattr(row, name),
        name.title(),
        words=lambda row: _shown(row, getattr(row, name)),
        digits=4,
    )


def _shown(row: UnderTies, value: float | None) -> str | None:
    return None if value is None else f"{value:.{row.column.digits}f}"


def _expected(row: UnderTies) -> str | None:
    shown = _shown(row, row.expected)
    return f"{shown} ± {_shown(row, row.error)}" if shown and not row.exact and row.error else shown


def _how(row: UnderTies) -> str:
    return "exact" if row.exact else "100 drawn orders"


def run_ties(
    session: Session,
    scored: ScoredRun,
    *,
    drawn: bool = False,
    columns: Sequence[MeasureColumn] | None = None,
    judged: Judged | None = None,
) -> RunTies:
    """The ties of a run, and what they do to it by some measures, all of the board unless they are named.

    They are kept by the run itself and not by its digest, as they depend on its scores. judged: its
    alignment, where that was read before.
    """
    source, run_key = scored.source, f"{session.get_bind().engine.url} {scored.run.id}"
    judged = judged or alignment(session, source, scored.run.id)
    grouped = tied(judged, _groups(session, source, scored.run.id, run_key, judged))
    number = counts(grouped, np.array(source.places, dtype=np.int64))
    measure_columns = scored.columns if columns is None else columns
    moved = [column for column in measure_columns if column.aggregate in BY_TOPIC and number.documents]
    measured = [column for column in moved if drawn or is_exact(column.key)]
    return RunTies(
        topics=number.topics,
        of_topics=len(source.topics),
        documents=number.documents,
        largest=number.largest,
        measures=tuple(_under_ties(source, run_key, grouped, column) for column in measured),
        left=tuple(column.key for column in moved if column not in measured),
    )


def is_exact(key: str) -> bool:
    """Whether what ties do to a measure has a formula.

    >>> is_exact("AP"), is_exact("Bpref")
    (True, False)
    """
    name = parse(key).measure.name
    return name in EXPECTED or name in UNORDERED


def _groups(session: Session, source: Source, run_id: int, run_key: str, judged: Judged) -> TieGroups:
    digest = run_digest("tie groups", GROUPS, source, run_key)
    kept = requests.kept.get(digest)
    if kept is None:
        topic, score = _scores(session, source, run_id, judged.judgments.topics)
        groups = tie_groups(topic, score)
        kept = requests.kept.put(digest, {"topic": groups.topic, "first": groups.first, "size": groups.size})
    topic, first, size = (kept[name].astype(np.int64, copy=False) for name in ("topic", "first", "size"))
    return TieGroups(topic, first, size)


def _scores(
    session: Session, source: Source, run_id: int, topics: Sequence[str]
) -> "tuple[IntArray, np.ndarray[tuple[int], np.dtype[np.floating]]]":
    """The judged topics' rankings as the topic and score of every document, best first in each topic."""
    place = {topic.encode("utf-8", "surrogateescape"): at for at, topic in enumerate(topics)}
    precision = np.float32 if source.dialect == 9 else np.float64
    parts = [(np.empty(0, np.int64), np.empty(0, np.float64))]
    gone = compiled_judgments(session, source).left_out
    for whole in blocks_of(session, run_id):
        block = whole if gone is None else remaining(whole, gone)
        at = np.repeat(np.array([place.get(topic, -1) for topic in block.topics], np.int64), block.sizes())
        parts.append((at[at >= 0], block.columns.score[at >= 0]))
    topic, score = (np.concatenate([part[side] for part in parts]) for side in (0, 1))
    score = score.astype(precision)
    order = np.lexsort((-score, topic))
    return topic[order], score[order]


def _under_ties(source: Source, run_key: str, grouped: Tied, column: MeasureColumn) -> UnderTies:
    """The effect of ties on one measure."""
    digest = run_digest("tie effect", EFFECT, source, run_key, column.key, column.version)
    kept = requests.kept.get(digest)
    if kept is None:
        kept = requests.kept.put(digest, _aggregated(source, grouped, column))
    lowest, expected, highest, error, exact = kept["values"].tolist()
    # The mean of a geometric mean is not the geometric mean of means.
    is_known = column.aggregate != "geometric" or lowest == highest
    return UnderTies(
        column=column,
        lowest=lowest,
        expected=expected if is_known else None,
        highest=highest,
        error=error,
        exact=bool(exact),
    )


def _aggregated(source: Source, grouped: Tied, column: MeasureColumn) -> Arrays:
    measure, places = parse(column.key), np.array(source.places)
    effects = effect(grouped, column.key)
    values = [
        measure.aggregate(scores[places]) for scores in (effects.lowest, effects.expected, effects.highest)
    ]
    total = float(np.sqrt((effects.error[places] ** 2).sum()))
    error = total if column.aggregate == "sum" else total / len(places)
    return {"values": np.array([*values, error, float(effects.exact)])}
