"""A judge's board aligned with a reference: runs by topics, and missing values.

Means are computed from the lines of topics: an `all` line may be a sum, or over other topics. Values that a
judge leaves out never count as 0, which would reward leaving out bad runs; autojudge-evaluate's ways are
there to have its numbers.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from leaderboard.errors import Invalid, Problem
from leaderboard.trec.boards.board_files import BoardFile
from leaderboard.trec.read.lines import shown

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.intp]
Missing = Literal["", "error", "warn", "skip", "default"]
"""Treatment of a missing run: "" here, else as autojudge-evaluate's option of that name."""

FEWEST_RUNS = 3
"""With fewer common runs nothing is computed."""
FAR = 0.001
"""By how much an `all` line may differ from the mean without a warning."""
DIGITS = 12
"""Means that differ only beyond are equal: the rest is rounding."""


@dataclass(frozen=True, slots=True, eq=False)
class Reference:
    """The reference that judges are compared with: runs by one measure.

    scores: (runs, topics), without a column where only `all` lines were given; means: (runs,).
    """

    runs: tuple[str, ...]
    topics: tuple[str, ...]
    measure: str
    scores: FloatArray
    means: FloatArray
    warnings: tuple[Problem, ...] = ()


@dataclass(frozen=True, slots=True, eq=False)
class AlignedBoard:
    """A judge's board by one measure, for the runs and topics of the reference that it has.

    runs, topics: places in the reference, ascending; scores: (runs, topics); means: (runs,), of `all` lines
    where there is no topic. missing: runs it lacks; left_out: topics without a value for each of its runs.
    """

    measure: str
    runs: IntArray
    topics: IntArray
    scores: FloatArray
    means: FloatArray
    missing: tuple[str, ...]
    left_out: tuple[str, ...]
    warnings: tuple[Problem, ...]

    @property
    def is_enough(self) -> bool:
        """Whether there are enough runs to compute anything."""
        return len(self.runs) >= FEWEST_RUNS


def reference_of(board: BoardFile, measure: str = "") -> Reference:
    """The reference that a board file is, by the measure named or its only one.

    Raises Invalid where that measure is missing or not given, and where a run lacks a topic.
    """
    chosen = measure_of(board, measure)
    values, totals = board.values.get(chosen, {}), board.totals.get(chosen, {})
    if not values:
        runs = tuple(totals)
        return Reference(runs, (), chosen, np.zeros((len(runs), 0)), _as_means(totals[run] for run in runs))
    runs, topics = tuple(values), tuple(dict.fromkeys(topic for row in values.values() for topic in row))
    for run in runs:
        if lacking := [topic for topic in topics if topic not in values[run]]:
            raise Invalid(
                f"The reference has no value of {chosen} for run {shown(run)} on topic {shown(lacking[0])} "
                f"({len(lacking)} of {len(topics)} are missing); give each run one on every topic."
            )
    reference = reference_from(runs, topics, chosen, _table(values, runs, topics))
    return replace(reference, warnings=_far(chosen, runs, reference.means, totals))


def reference_from(runs: Sequence[str], topics: Sequence[str], measure: str, scores: FloatArray) -> Reference:
    """The reference that scores of runs by a measure are, (runs, topics)."""
    return Reference(tuple(runs), tuple(topics), measure, scores, _as_means(map(_mean, scores.tolist())))


def measure_of(board: BoardFile, measure: str = "") -> str:
    """The measure of that name, or the only one; raises Invalid if it is missing or ambiguous."""
    names = ", ".join(map(shown, board.measures)) or "no usable measure"
    if measure and measure not in board.measures:
        raise Invalid(f"{board.name} has no measure {shown(measure)}; it has {names}.")
    if not measure and len(board.measures) != 1:
        raise Invalid(f"{board.name} has {len(board.measures)} measures: {names}. Name one.")
    return measure or board.measures[0]


def align(board: BoardFile, measure: str, reference: Reference) -> AlignedBoard:
    """A judge's board by one of its measures.

    A run that it lacks is missing; a topic that one of its runs lacks is left out for all of them. Means are
    over the topics that remain. Where there are only `all` lines, or the reference has no topics, the means
    are those.
    """
    values, totals = board.values.get(measure, {}), board.totals.get(measure, {})
    if not (values and reference.topics):
        return _by_totals(
            reference, measure, totals or {run: _mean(row.values()) for run, row in values.items()}
        )
    names = [run for run in reference.runs if run in values]
    topics = [topic for topic in reference.topics if all(topic in values[run] for run in names)]
    means = dict(zip(names, map(_mean, _table(values, names, topics).tolist()), strict=True))
    is_whole = len(topics) == len(reference.topics)
    warnings = _far(measure, names, _as_means(means.values()), totals) if is_whole else ()
    return _aligned(reference, measure, values, topics, means, warnings)


def align_as_autojudge(
    board: BoardFile, measure: str, reference: Reference, missing: Missing, *, recompute: bool = False
) -> AlignedBoard:
    """A judge's board as autojudge-evaluate aligns it.

    Means are the `all` lines as given; recomputed, or where a run has none, they are over the topics
    present. A missing run is an error (`error`), out (`warn`, `skip`) or has 0 (`default`); with `default`
    so has every run of a measure that is missing. Raises Invalid for such an error.
    """
    if measure not in board.measures and missing != "default":
        raise Invalid(f"{board.name} has no measure {shown(measure)}.")
    values, means = board.values.get(measure, {}), _given(board, measure, recompute=recompute)
    lacking = [run for run in reference.runs if run not in means]
    if lacking and missing == "error":
        of = f"{len(lacking)} of {len(reference.runs)}"
        raise Invalid(f"{board.name} has no run {shown(lacking[0])} ({of}).")
    if missing == "default":
        means = {**means, **dict.fromkeys(lacking, 0.0)}
        values = {**values, **dict.fromkeys(lacking, dict.fromkeys(reference.topics, 0.0))}
    kept = {run: values.get(run, {}) for run in means}
    topics = [topic for topic in reference.topics if all(topic in row for row in kept.values())]
    warnings: tuple[Problem, ...] = ()
    if lacking and missing == "warn":
        rule = "The run is missing; only the common runs were used."
        warnings = (Problem(rule, "", None, "run", shown(lacking[0]), len(lacking)),)
    return _aligned(reference, measure, kept, topics, means, warnings)


def _given(board: BoardFile, measure: str, *, recompute: bool) -> dict[str, float]:
    """Run -> its `all` line, or the mean over its topics if it has none or the mean is requested."""
    computed = {run: _mean(row.values()) for run, row in board.values.get(measure, {}).items()}
    return computed if recompute and computed else {**computed, **board.totals.get(measure, {})}


def _by_totals(reference: Reference, measure: str, totals: Mapping[str, float]) -> AlignedBoard:
    rule = "The file has only values over all topics, so there are no tests and no bounds."
    return _aligned(reference, measure, {run: {} for run in totals}, (), totals, (Problem(rule),))


def _aligned(
    reference: Reference,
    measure: str,
    values: Mapping[str, Mapping[str, float]],
    topics: Sequence[str],
    means: Mapping[str, float],
    warnings: tuple[Problem, ...],
) -> AlignedBoard:
    """The board of those runs of the reference that have a mean."""
    names = [run for run in reference.runs if run in means]
    return AlignedBoard(
        measure=measure,
        runs=_places(reference.runs, names),
        topics=_places(reference.topics, topics),
        scores=_table(values, names, topics),
        means=_as_means(means[run] for run in names),
        missing=tuple(run for run in reference.runs if run not in means),
        left_out=tuple(topic for topic in reference.topics if topic not in topics),
        warnings=warnings,
    )


def _places(names: Sequence[str], among: Iterable[str]) -> IntArray:
    kept = set(among)
    return np.array([place for place, name in enumerate(names) if name in kept], dtype=np.intp)


def _table(
    values: Mapping[str, Mapping[str, float]], runs: Sequence[str], topics: Sequence[str]
) -> FloatArray:
    rows = [[values[run][topic] for topic in topics] for run in runs]
    return np.array(rows, dtype=np.float64).reshape(len(runs), len(topics))


def _mean(values: Iterable[float]) -> float:
    row = list(values)
    # Summed without rounding, so that the order of the topics changes nothing.
    return math.fsum(row) / len(row) if row else math.nan


def _as_means(values: Iterable[float]) -> FloatArray:
    return np.array([round(value, DIGITS) for value in values], dtype=np.float64)


def _far(
    measure: str, runs: Sequence[str], means: FloatArray, totals: Mapping[str, float]
) -> tuple[Problem, ...]:
    """A warning where `all` lines are not the means over the topics."""
    far = [
        (run, mean)
        for run, mean in zip(runs, means.tolist(), strict=True)
        if run in totals and abs(totals[run] - mean) > FAR
    ]
    if not far:
        return ()
    run, mean = far[0]
    rule = (
        f"{measure} of run {shown(run)} over all topics is given as {totals[run]:g}, and its mean over the "
    )
    rule += f"topics is {mean:g}."
    return (Problem(rule, "The mean was used.", count=len(far)),)
