"""How far a task's measures put its ranked runs in the same order, and which runs move most between two."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, get_args

import numpy as np
from sqlalchemy.orm import Session

from leaderboard.errors import Invalid, UnknownMeasure
from leaderboard.measures.naming import parse
from leaderboard.pages.scores.table import require_details
from leaderboard.services.boards import board
from leaderboard.services.boards.board import Board
from leaderboard.services.boards.rows import Row
from leaderboard.services.evaluations.choices import MeasureColumn
from leaderboard.services.evaluations.shown import FloatArray, scores_of, source_by
from leaderboard.services.policy import Viewer
from leaderboard.services.runs.facts import RunName
from leaderboard.services.statistics import standings
from leaderboard.services.statistics.requests import WaitingResult, refusal
from leaderboard.services.statistics.standings import RankedRun, RunPartlyScored
from leaderboard.services.tasks.scored_topics import TaskHead
from leaderboard.stats.orders.rank_correlation import (
    largest_moves,
    rho,
    tau_ap_a,
    tau_ap_b,
    tau_b,
    weighted_tau,
)
from leaderboard.stats.pairs.methods import method
from leaderboard.stats.reliability import Form, standardised
from leaderboard.tables.record import Place, Shown


@dataclass(frozen=True, slots=True)
class Coefficient:
    """A coefficient of agreement between two orders, from -1 (reversed) to 1 (the same)."""

    name: str
    title: str
    words: str
    """What it counts, as a sentence."""
    compute: Callable[[FloatArray, FloatArray], float | None]
    """Of an order and the one taken as the true one; None where it is not defined."""
    directed: bool = False
    """Whether it matters which order is taken as the true one."""


COEFFICIENTS: Mapping[str, Coefficient] = {
    each.name: each
    for each in (
        Coefficient(
            "tau_b",
            "Kendall’s τ_b",
            "Pairs of runs in the same order less pairs in the opposite order; ties are corrected for.",
            tau_b,
        ),
        Coefficient(
            "tau_ap",
            "τ_AP",
            "Going down the one order, the mean share of runs above that belong there by the true one: "
            "the top weighs most. Ties of the one order count as broken either way; with ties in the true "
            "one it is not defined.",
            tau_ap_a,
            directed=True,
        ),
        Coefficient(
            "tau_ap_b",
            "τ_AP,b",
            "τ_AP where neither order is the true one: the mean of both directions, with ties in either.",
            tau_ap_b,
        ),
        Coefficient(
            "weighted_tau",
            "Weighted τ",
            "Kendall’s τ where a pair at ranks r and s weighs 1/r + 1/s, so that the top weighs most.",
            weighted_tau,
        ),
        Coefficient("rho", "Spearman’s ρ", "The correlation of the ranks.", rho),
    )
}
"""Name -> coefficient, the usual one first."""


@dataclass(frozen=True, slots=True)
class CoefficientReading:
    """A coefficient's value for two orders; truth is the measure taken as the true order, where one is."""

    coefficient: Coefficient
    value: float | None
    truth: str = ""


@dataclass(frozen=True, slots=True)
class RunMove:
    """A run, by its place in the list of runs, whose rank changes from the first measure to the second."""

    at: int
    first_rank: Annotated[int, Shown("Rank")]
    second_rank: Annotated[int, Shown("Rank")]
    move: int
    """Positive where the second measure puts it higher."""


@dataclass(frozen=True, slots=True)
class PairOfOrders:
    """Two measures' orders of the same runs."""

    first: MeasureColumn
    second: MeasureColumn
    readings: tuple[CoefficientReading, ...]
    same: int
    """Pairs of runs in the same order by both."""
    opposite: int
    tied: int
    """Pairs that one of them ties."""
    moves: tuple[RunMove, ...]
    """All runs, those that move most first."""
    said: tuple[str, ...]
    """Why a coefficient is not defined, as sentences."""

    @property
    def pairs(self) -> int:
        """How many pairs of runs there are."""
        return self.same + self.opposite + self.tied


def pair_of_orders(
    first: MeasureColumn, second: MeasureColumn, one: FloatArray, other: FloatArray
) -> PairOfOrders:
    """Two measures' orders of n runs; one and other are the runs' values, higher is better, (n,)."""
    signs = np.sign(one[:, None] - one) * np.sign(other[:, None] - other)
    upper = signs[np.triu_indices(len(one), 1)]
    moves = largest_moves(one, other)
    readings: list[CoefficientReading] = []
    for coefficient in COEFFICIENTS.values():
        if not coefficient.directed:
            readings.append(CoefficientReading(coefficient, coefficient.compute(other, one)))
            continue
        readings.append(CoefficientReading(coefficient, coefficient.compute(other, one), first.key))
        readings.append(CoefficientReading(coefficient, coefficient.compute(one, other), second.key))
    return PairOfOrders(
        first=first,
        second=second,
        readings=tuple(readings),
        same=int(np.count_nonzero(upper > 0)),
        opposite=int(np.count_nonzero(upper < 0)),
        tied=int(np.count_nonzero(upper == 0)),
        moves=tuple(
            RunMove(at, int(moves.first_rank[at]), int(moves.second_rank[at]), int(moves.move[at]))
            for at in moves.order.tolist()
        ),
        said=_undefined((first.key, one), (second.key, other)),
    )


def _undefined(*orders: tuple[str, FloatArray]) -> tuple[str, ...]:
    sentences = []
    for key, values in orders:
        different = len(np.unique(values))
        if different == 1:
            sentences.append(f"By {key} all runs are equal: it puts them in no order.")
        elif different < len(values):
            sentences.append(f"{key} ties some runs, so it cannot be the true order of τ_AP.")
    return tuple(dict.fromkeys(sentences))


FORMS: tuple[Form, ...] = get_args(Form)


@dataclass(frozen=True, slots=True, kw_only=True)
class OrderedRun(RunName):
    """A ranked run with its value and its rank by every measure, in the order of the measures."""

    values: tuple[float, ...]
    ranks: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class PairsToldApart:
    """How many pairs of runs the task's test tells apart by a measure; said is why that is not known."""

    pairs: Annotated[int, Shown(shown=Place.DATA)]
    told_apart: Annotated[int | None, Shown(shown=Place.DATA)]
    said: str = ""

    @property
    def share(self) -> float | None:
        """The share of pairs, from 0 to 1: the measure's discriminative power."""
        return None if self.told_apart is None or not self.pairs else self.told_apart / self.pairs


@dataclass(frozen=True, slots=True)
class StandardisedRun:
    """A run by its mean and by the mean of its standardised scores."""

    run_id: Annotated[int, Shown(shown=Place.DATA)]
    run: str
    value: float
    rank: int
    standardised: float
    standardised_rank: Annotated[int, Shown("Rank")]
    move: int
    """Positive where standardising puts it higher."""


@dataclass(frozen=True, slots=True)
class StandardisedOrder:
    """The order by standardised scores beside the raw one; said is why there is none."""

    form: Form
    column: MeasureColumn
    runs: tuple[StandardisedRun, ...]
    tau_b: float | None
    said: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class OrdersPage(TaskHead):
    """What the page shows; columns, told_apart, coefficients and the runs' values share one order."""

    columns: tuple[MeasureColumn, ...]
    left_out: tuple[str, ...]
    """Measures without a better and a worse."""
    runs: tuple[OrderedRun, ...]
    """In the order of the primary measure."""
    told_apart: tuple[PairsToldApart, ...]
    comparison: str
    """The task's test and correction, in words."""
    coefficient: Coefficient
    agreement: tuple[tuple[float | None, ...], ...]
    """By the measure whose order is taken as the true one, then by the other; empty with one run."""
    pair: PairOfOrders | None
    standardised: StandardisedOrder | None
    said: str
    """Why orders cannot be compared; empty where they can."""


@dataclass(frozen=True, slots=True)
class Choice:
    """What a reader may choose, as written in an address; empty for what is shown at first."""

    first: str = ""
    second: str = ""
    coefficient: str = ""
    standardised: str = ""


def page(session: Session, viewer: Viewer, slug: str, choice: Choice) -> OrdersPage:
    """The orders of the ranked runs by all measures that have a better and a worse.

    As many statements however many runs there are, two more for every measure that pairs were not compared
    by lately. Raises NotFound for an unknown task and while scores by topic are held back, UnknownMeasure
    for a measure that is not on the board or orders nothing, Invalid for another choice there is not.
    """
    shown = board.board(session, viewer, slug)
    require_details(shown.sight)
    coefficient, form = _coefficient(choice.coefficient), _form(choice.standardised)
    columns = _primary_first(shown)
    rows = _ranked(shown, columns)
    better = better_values([[_value(row, measure) for measure in columns] for row in rows], columns)
    first, second = _chosen(columns, shown, choice)
    said = _nothing(shown, rows, columns)
    return OrdersPage(
        **shown.head,
        columns=columns,
        left_out=tuple(measure.key for measure in shown.measures if measure.direction == "none"),
        runs=_runs(rows, columns, better),
        told_apart=tuple(_told_apart(session, shown, measure, rows) for measure in columns),
        comparison=method(shown.of.comparison).title,
        coefficient=coefficient,
        agreement=() if said else _agreement(better, coefficient),
        pair=None if said else pair_of_orders(columns[first], columns[second], better[first], better[second]),
        standardised=None if said or not form else _standardised(session, shown, columns[first], rows, form),
        said=said,
    )


def _coefficient(name: str) -> Coefficient:
    coefficient = COEFFICIENTS.get(name or next(iter(COEFFICIENTS)))
    if coefficient is None:
        raise Invalid(f"There is no coefficient {name[:40]!r} here; choose one of {', '.join(COEFFICIENTS)}.")
    return coefficient


def _form(name: str) -> Form | None:
    chosen = next((form for form in FORMS if form == name), None)
    if name and chosen is None:
        raise Invalid(f"Scores are not standardised by {name[:40]!r} here; choose one of {', '.join(FORMS)}.")
    return chosen


def _primary_first(shown: Board) -> tuple[MeasureColumn, ...]:
    ordering = [measure for measure in shown.measures if measure.direction != "none"]
    return tuple(sorted(ordering, key=lambda measure: measure.key != shown.primary))


def _ranked(shown: Board, columns: Sequence[MeasureColumn]) -> tuple[Row, ...]:
    return tuple(
        row
        for row in shown.rows
        if row.rank is not None and all(row.scores[measure.key] is not None for measure in columns)
    )


def better_values(values: Sequence[Sequence[float]], columns: Sequence[MeasureColumn]) -> FloatArray:
    """The runs' values by measure with higher being better, (measures, runs)."""
    signs = np.array([measure.sign for measure in columns])
    table = np.array(values, dtype=np.float64).reshape(len(values), len(columns))
    better: FloatArray = (table * signs).T.copy()
    return better


def _chosen(columns: Sequence[MeasureColumn], shown: Board, choice: Choice) -> tuple[int, int]:
    """Where the two measures stand that are looked at closely: those asked for, else the first two."""
    keys = [measure.key for measure in columns]
    known = [measure.key for measure in shown.measures]

    def place(name: str) -> int:
        key = parse(name).key
        if key in keys:
            return keys.index(key)
        if key in known:
            raise UnknownMeasure(f"{key} has no better or worse, so runs have no order by it.")
        raise UnknownMeasure(f"{key} is not on this board; its measures are {', '.join(known)}.")

    first = place(choice.first) if choice.first else 0
    if choice.second:
        return first, place(choice.second)
    return first, next((at for at in range(len(keys)) if at != first), first)


def _runs(
    rows: Sequence[Row], columns: Sequence[MeasureColumn], better: FloatArray
) -> tuple[OrderedRun, ...]:
    # Ranks share the smallest where values are equal.
    ranks = [1 + (values > values[:, None]).sum(axis=1) for values in better]
    return tuple(
        OrderedRun(
            run_id=row.run_id,
            name=row.run,
            team=row.team,
            kind=row.kind,
            values=tuple(_value(row, measure) for measure in columns),
            ranks=tuple(int(by_measure[at]) for by_measure in ranks),
        )
        for at, row in enumerate(rows)
    )


def _value(row: Row, by: MeasureColumn) -> float:
    value = row.scores[by.key]
    assert value is not None, "only scored runs are ordered"
    return value


def _agreement(better: FloatArray, by: Coefficient) -> tuple[tuple[float | None, ...], ...]:
    count = len(better)
    values: list[list[float | None]] = [[None] * count for _ in range(count)]
    for truth in range(count):
        for other in range(count):
            known = other < truth and not by.directed
            values[truth][other] = values[other][truth] if known else by.compute(better[other], better[truth])
    return tuple(tuple(row) for row in values)


def _told_apart(session: Session, shown: Board, by: MeasureColumn, rows: Sequence[Row]) -> PairsToldApart:
    pairs = len(rows) * (len(rows) - 1) // 2
    if why := refusal(parse(by.key).measure):
        return PairsToldApart(pairs, None, why)
    if shown.source is None or not rows:
        return PairsToldApart(pairs, None)
    ranked = [RankedRun(row.run_id, row.ranking_sha256, row.run, _value(row, by)) for row in rows]
    source = source_by(session, shown.source, by.key)
    which = (by.key, by.version)
    try:
        standing = standings.of_runs(session, source, which, by.sign, ranked, method(shown.of.comparison))
    except RunPartlyScored as error:
        return PairsToldApart(pairs, None, error.message)
    if isinstance(standing, WaitingResult):
        return PairsToldApart(
            pairs, None, f"The pairs are not compared by {by.key} yet: its board can ask for it."
        )
    return PairsToldApart(pairs, standing.told_apart)


def _standardised(
    session: Session, shown: Board, by: MeasureColumn, rows: Sequence[Row], form: Form
) -> StandardisedOrder:
    if why := refusal(parse(by.key).measure):
        return StandardisedOrder(form, by, (), None, why)
    assert shown.source is not None, "the scores by topic are known where details are shown"
    source = source_by(session, shown.source, by.key)
    by_run = scores_of(session, source, by.key, by.version, [row.run_id for row in rows])
    if len(by_run) < len(rows):
        return StandardisedOrder(form, by, (), None, f"Not every run has a score by {by.key} on all topics.")
    scores = by.sign * np.array([by_run[row.run_id] for row in rows])
    raw = by.sign * np.array([_value(row, by) for row in rows])
    # Equal scores stay equal only without the rounding of another order of summing.
    means = standardised(scores, form).mean(axis=1).round(12)
    moves = largest_moves(raw, means)
    runs = [
        StandardisedRun(
            run_id=rows[at].run_id,
            run=rows[at].run,
            value=_value(rows[at], by),
            rank=int(moves.first_rank[at]),
            standardised=float(means[at]),
            standardised_rank=int(moves.second_rank[at]),
            move=int(moves.move[at]),
        )
        for at in np.lexsort((moves.first_rank, moves.second_rank)).tolist()
    ]
    return StandardisedOrder(form, by, tuple(runs), tau_b(raw, means))


def _nothing(shown: Board, rows: Sequence[Row], columns: Sequence[MeasureColumn]) -> str:
    if shown.basis is None:
        return f"{shown.task} has no judgments yet, so its runs have no order."
    if not columns:
        return "None of this task's measures has a better and a worse, so its runs have no order."
    if not rows:
        return "No official run is scored yet, so there is no order to compare."
    if len(rows) == 1:
        return f"{rows[0].run} is the only ranked run: it is first by every measure."
    if len(columns) == 1:
        return f"{columns[0].key} is the only measure with a better and a worse: there is no other order."
    return ""
