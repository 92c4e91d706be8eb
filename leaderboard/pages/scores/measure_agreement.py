"""Two measures' orders of the same runs: every coefficient of their agreement, in numbers and in words."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Annotated

import numpy as np

from leaderboard.services.evaluations.columns import MeasureColumn
from leaderboard.services.evaluations.shown import FloatArray
from leaderboard.stats.orders.rank_correlation import (
    largest_moves,
    rho,
    tau_ap_a,
    tau_ap_b,
    tau_b,
    weighted_tau,
)
from leaderboard.tables.record import Shown


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
