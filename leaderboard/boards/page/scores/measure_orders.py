"""Agreement of a task's measures on the ranking of its runs, and rank changes between two measures."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, get_args

import numpy as np
from sqlalchemy.orm import Session

from leaderboard.boards.ops import board
from leaderboard.boards.ops.board import Board
from leaderboard.boards.ops.rows import Row
from leaderboard.boards.page.scores.table import require_details
from leaderboard.core.policy import Viewer
from leaderboard.errors import Invalid, UnknownMeasure
from leaderboard.measures.naming import parse
from leaderboard.measures.record import refusal
from leaderboard.scoring.ops.evaluations.shown import FloatArray, scores_of, source_by
from leaderboard.scoring.ops.run_facts import RunName
from leaderboard.scoring.ops.scored_topics import MeasureColumn, TaskHead
from leaderboard.scoring.ops.statistics import standings
from leaderboard.scoring.ops.statistics.requests import WaitingResult
from leaderboard.scoring.ops.statistics.standings import RankedRun, RunPartlyScored
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
    """Explanation in one sentence."""
    compute: Callable[[FloatArray, FloatArray], float | None]
    """Coefficient of a ranking and the reference ranking; None if undefined."""
    directed: bool = False
    """Whether the coefficient depends on which ranking is the reference."""


COEFFICIENTS: Mapping[str, Coefficient] = {
    each.name: each
    for each in (
        Coefficient(
            "tau_b",
            "Kendall’s τ_b",
            "Pairs of runs in the same order minus pairs in the opposite order, corrected for ties.",
            tau_b,
        ),
        Coefficient(
            "tau_ap",
            "τ_AP",
            "The mean share of runs above each rank that the reference also ranks above, so the top weighs "
            "most. Ties in the compared ranking count as broken either way; with ties in the reference, "
            "it is undefined.",
            tau_ap_a,
            directed=True,
        ),
        Coefficient(
            "tau_ap_b",
            "τ_AP,b",
            "τ_AP without a reference ranking: the mean of both directions, allowing ties in either.",
            tau_ap_b,
        ),
        Coefficient(
            "weighted_tau",
            "Weighted τ",
            "Kendall’s τ with weight 1/r + 1/s for a pair at ranks r and s, so the top weighs most.",
            weighted_tau,
        ),
        Coefficient("rho", "Spearman’s ρ", "The correlation of ranks.", rho),
    )
}
"""Name -> coefficient, the default first."""


@dataclass(frozen=True, slots=True)
class CoefficientReading:
    """A coefficient's value for two rankings; truth: the reference measure, if any."""

    coefficient: Coefficient
    value: float | None
    truth: str = ""


@dataclass(frozen=True, slots=True)
class RunMove:
    """A run, by its index in the list of runs, whose rank changes between two measures."""

    at: int
    first_rank: Annotated[int, Shown("Rank")]
    second_rank: Annotated[int, Shown("Rank")]
    move: int
    """Positive where the second measure puts it higher."""


@dataclass(frozen=True, slots=True)
class PairOfOrders:
    """Two measures' rankings of the same runs."""

    first: MeasureColumn
    second: MeasureColumn
    readings: tuple[CoefficientReading, ...]
    same: int
    """The number of pairs of runs in the same order by both."""
    opposite: int
    tied: int
    """The number of pairs tied by at least one of them."""
    moves: tuple[RunMove, ...]
    """All runs, largest moves first."""
    notes: tuple[str, ...]
    """Sentences on undefined coefficients."""

    @property
    def pairs(self) -> int:
        """The number of pairs of runs."""
        return self.same + self.opposite + self.tied


def pair_of_orders(
    first: MeasureColumn, second: MeasureColumn, first_scores: FloatArray, second_scores: FloatArray
) -> PairOfOrders:
    """Compare two measures' rankings of n runs by scores of each, higher is better, (n,)."""
    signs = np.sign(first_scores[:, None] - first_scores) * np.sign(second_scores[:, None] - second_scores)
    upper = signs[np.triu_indices(len(first_scores), 1)]
    moves = largest_moves(first_scores, second_scores)
    readings: list[CoefficientReading] = []
    for coefficient in COEFFICIENTS.values():
        if not coefficient.directed:
            readings.append(CoefficientReading(coefficient, coefficient.compute(second_scores, first_scores)))
            continue
        readings.append(
            CoefficientReading(coefficient, coefficient.compute(second_scores, first_scores), first.key)
        )
        readings.append(
            CoefficientReading(coefficient, coefficient.compute(first_scores, second_scores), second.key)
        )
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
        notes=_undefined((first.key, first_scores), (second.key, second_scores)),
    )


def _undefined(*orders: tuple[str, FloatArray]) -> tuple[str, ...]:
    sentences = []
    for key, values in orders:
        different = len(np.unique(values))
        if different == 1:
            sentences.append(f"{key} ties all runs, so it gives no ranking.")
        elif different < len(values):
            sentences.append(f"{key} ties some runs, so it cannot be the reference ranking of τ_AP.")
    return tuple(dict.fromkeys(sentences))


FORMS: tuple[Form, ...] = get_args(Form)


@dataclass(frozen=True, slots=True, kw_only=True)
class OrderedRun(RunName):
    """A ranked run with its value and its rank by every measure, in the order of the measures."""

    values: tuple[float, ...]
    ranks: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class PairsToldApart:
    """The number of pairs that differ significantly by a measure; why_unknown: else empty."""

    pairs: Annotated[int, Shown(shown=Place.DATA)]
    told_apart: Annotated[int | None, Shown(shown=Place.DATA)]
    why_unknown: str = ""

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
    """The ranking by standardised scores and by raw scores; why_missing: else empty."""

    form: Form
    column: MeasureColumn
    runs: tuple[StandardisedRun, ...]
    tau_b: float | None
    why_missing: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class OrdersPage(TaskHead):
    """The contents of the page; columns, told_apart, coefficients and run values share one order."""

    columns: tuple[MeasureColumn, ...]
    left_out: tuple[str, ...]
    """Measures without a direction."""
    runs: tuple[OrderedRun, ...]
    """Runs ordered by the primary measure."""
    told_apart: tuple[PairsToldApart, ...]
    comparison: str
    """The task's test and correction, as text."""
    coefficient: Coefficient
    agreement: tuple[tuple[float | None, ...], ...]
    """By reference measure, then by compared measure; empty with one run."""
    pair: PairOfOrders | None
    standardised: StandardisedOrder | None
    why_empty: str
    """Why rankings cannot be compared; otherwise empty."""


@dataclass(frozen=True, slots=True)
class Choice:
    """Settings from the address; empty means the default."""

    first: str = ""
    second: str = ""
    coefficient: str = ""
    standardised: str = ""


def page(session: Session, viewer: Viewer, slug: str, choice: Choice) -> OrdersPage:
    """The rankings of the runs by all measures that have a direction.

    The number of statements does not depend on the number of runs; measures without a cached comparison take
    two more each. Raises NotFound for an unknown task and while topic scores are hidden, UnknownMeasure for
    a measure that is not on the board or has no direction, Invalid for another unknown setting.
    """
    shown = board.board(session, viewer, slug)
    require_details(shown.access)
    coefficient, form = _coefficient(choice.coefficient), _form(choice.standardised)
    columns = _primary_first(shown)
    rows = _ranked(shown, columns)
    better = better_values([[_value(row, measure) for measure in columns] for row in rows], columns)
    first, second = _chosen(columns, shown, choice)
    why = _nothing(shown, rows, columns)
    return OrdersPage(
        **shown.head,
        columns=columns,
        left_out=tuple(measure.key for measure in shown.measures if measure.direction == "none"),
        runs=_runs(rows, columns, better),
        told_apart=tuple(_told_apart(session, shown, measure, rows) for measure in columns),
        comparison=method(shown.of.comparison).title,
        coefficient=coefficient,
        agreement=() if why else _agreement(better, coefficient),
        pair=None if why else pair_of_orders(columns[first], columns[second], better[first], better[second]),
        standardised=None if why or not form else _standardised(session, shown, columns[first], rows, form),
        why_empty=why,
    )


def _coefficient(name: str) -> Coefficient:
    coefficient = COEFFICIENTS.get(name or next(iter(COEFFICIENTS)))
    if coefficient is None:
        raise Invalid(f"Unknown coefficient {name[:40]!r}; choose one of {', '.join(COEFFICIENTS)}.")
    return coefficient


def _form(name: str) -> Form | None:
    chosen = next((form for form in FORMS if form == name), None)
    if name and chosen is None:
        raise Invalid(f"Unknown standardisation {name[:40]!r}; choose one of {', '.join(FORMS)}.")
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
    """Run values by measure with higher values being better, (measures, runs)."""
    signs = np.array([measure.sign for measure in columns])
    table = np.array(values, dtype=np.float64).reshape(len(values), len(columns))
    better: FloatArray = (table * signs).T.copy()
    return better


def _chosen(columns: Sequence[MeasureColumn], shown: Board, choice: Choice) -> tuple[int, int]:
    """Indices of the two compared measures: the requested ones, else the first two."""
    keys = [measure.key for measure in columns]
    shown_keys = [measure.key for measure in shown.measures]

    def place(name: str) -> int:
        key = parse(name).key
        if key in keys:
            return keys.index(key)
        if key in shown_keys:
            raise UnknownMeasure(
                f"{key} has no direction (higher or lower is better), so it cannot rank runs."
            )
        raise UnknownMeasure(f"{key} is not on this board; its measures are {', '.join(shown_keys)}.")

    first = place(choice.first) if choice.first else 0
    if choice.second:
        return first, place(choice.second)
    return first, next((at for at in range(len(keys)) if at != first), first)


def _runs(
    rows: Sequence[Row], columns: Sequence[MeasureColumn], better: FloatArray
) -> tuple[OrderedRun, ...]:
    # Ties share the smallest rank.
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
            is_mirrored = other < truth and not by.directed
            values[truth][other] = (
                values[other][truth] if is_mirrored else by.compute(better[other], better[truth])
            )
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
            pairs,
            None,
            f"The comparison by {by.key} is not computed yet. Start it on the board by this measure.",
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
    # Rounding keeps equal scores equal despite a different order of summation.
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
        return f"{shown.task} has no judgments yet, so its runs are not ranked."
    if not columns:
        return "None of this task's measures has a direction, so its runs cannot be ranked."
    if not rows:
        return "No official run is scored yet, so there are no rankings to compare."
    if len(rows) == 1:
        return f"{rows[0].run} is the only ranked run, so it is first by every measure."
    if len(columns) == 1:
        return (
            f"{columns[0].key} is the only measure with a direction, so there is no other ranking to compare."
        )
    return ""
