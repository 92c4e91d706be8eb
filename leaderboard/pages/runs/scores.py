"""What a run got by every measure, and where that puts it among the ranked runs."""

from dataclasses import dataclass

import numpy as np

from leaderboard.measures.binding import BoundMeasure
from leaderboard.measures.grammar import with_level
from leaderboard.measures.judged import FloatArray, Judged
from leaderboard.measures.record import Need
from leaderboard.measures.selection import select
from leaderboard.services.boards.board import Board
from leaderboard.services.boards.rows import rank
from leaderboard.services.evaluations.columns import MeasureColumn, column
from leaderboard.services.evaluations.digests import run_digest
from leaderboard.services.evaluations.shown import Source
from leaderboard.services.statistics import requests

EVERY_MEASURE = 1
"""Version of what is kept of all measures of a run; a new one makes the old unused."""


@dataclass(frozen=True, slots=True)
class FieldSpread:
    """How a measure spreads over the ranked runs: smallest, quartiles, largest value."""

    low: float
    lower: float
    median: float
    upper: float
    high: float


@dataclass(frozen=True, slots=True)
class MeasureValue:
    """A measure, the run's aggregate, its place among the ranked runs, and how these spread."""

    column: MeasureColumn
    value: float | None
    rank: int | None
    ranked: int
    best: float | None
    spread: FieldSpread | None
    """None where the measure has no better and worse, or no run is ranked."""


@dataclass(frozen=True, slots=True)
class LooseValue:
    """A run's value by a measure that its board need not have; None where a run has no one number."""

    column: MeasureColumn
    value: float | None


def spread_of(values: FloatArray) -> FieldSpread:
    """The five numbers of at least one value; quartiles between two values are interpolated.

    >>> spread_of(np.array([0.4, 0.1, 0.2, 0.3, 0.9]))
    FieldSpread(low=0.1, lower=0.2, median=0.3, upper=0.4, high=0.9)
    """
    return FieldSpread(*np.percentile(values, (0, 25, 50, 75, 100)).tolist())


def among_ranked(board: Board, run_id: int) -> tuple[MeasureValue, ...]:
    """The run's aggregates with its place by each of them: the board's own rule, applied to its own rows."""
    return tuple(_value(board, column, run_id) for column in board.measures)


def _value(board: Board, column: MeasureColumn, run_id: int) -> MeasureValue:
    ordered = rank(board.rows, column) if column.direction != "none" else ()
    ranked = [row for row in ordered if row.rank is not None]
    values = [value for row in ranked if (value := row.scores[column.key]) is not None]
    mine = next((row.scores[column.key] for row in board.rows if row.run_id == run_id), None)
    return MeasureValue(
        column=column,
        value=mine,
        rank=next((row.rank for row in ranked if row.run_id == run_id), None),
        ranked=len(ranked),
        best=values[0] if values else None,
        spread=spread_of(np.array(values)) if values else None,
    )


def every_measure(source: Source, judged: Judged, level: int, ranking: str) -> tuple[LooseValue, ...]:
    """The run by every measure there is that its judgments suffice for, as `-m all` selects them.

    judged: the run as the source's judgments see it; level: the lowest relevant grade; ranking: the key of
    its rankings.
    """
    measures = _computable(source, judged, level)
    named = [(each.key, each.measure.version) for each in measures]
    digest = run_digest(
        "every measure", EVERY_MEASURE, source, ranking, named, judged.judgments.collection_size
    )
    found = requests.kept.get(digest)
    if found is None:
        values = np.array([_aggregate(each, judged, source) for each in measures])
        found = requests.kept.put(digest, {"values": values})
    return tuple(
        LooseValue(column(measure), value if np.isfinite(value) else None)
        for measure, value in zip(measures, found["values"].tolist(), strict=True)
    )


def _computable(source: Source, judged: Judged, level: int) -> list[BoundMeasure]:
    available: list[Need] = ["collection size"] if judged.judgments.collection_size is not None else []
    highest = max(1, int(judged.judgments.grades.max(initial=1)))
    chosen = select(["all"], source.dialect, available, highest)
    return list(dict.fromkeys(with_level(measure, level) for measure in chosen if not measure.measure.text))


def _aggregate(measure: BoundMeasure, judged: Judged, source: Source) -> float:
    """The one number over the source's topics, nan where there is none."""
    if measure.measure.aggregate == "none" or not source.places:
        return float("nan")
    places = np.array(source.places)
    parts = measure.parts(judged)
    return measure.aggregate(measure.compute(judged)[places], None if parts is None else parts[:, places])
