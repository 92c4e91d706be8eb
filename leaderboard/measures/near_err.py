"""C/W/L measures that come close to expected reciprocal rank: readers stop when a document satisfies them."""

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from leaderboard.measures.curves import harmonic, inverse_squares, powers
from leaderboard.measures.cwl import DEPTH, ENDLESS, LISTED_CUTOFF, SCALED, WANTED, squares_up_to
from leaderboard.measures.graded_gain import ScaledGains, scaled_gains
from leaderboard.measures.judged import FloatArray, IntArray, Judged
from leaderboard.measures.rank_biased import PERSISTENCE
from leaderboard.measures.record import CUTOFF_REQUIRED, JUDGED_ONLY, Measure
from leaderboard.measures.running import before, last, running


def near_err_8(judged: Judged, *, max_rel: int, min_rel: int = 0, cutoff: int) -> FloatArray:
    """The gain per document where a reader stops at gain g with probability g, float64 (topics,).

    From 0 to 1. C(i) = 1 - gain(i) down to the cutoff. Source: Azzopardi, Mackenzie and Moffat 2021.

    Grade 1 of 2 at rank 2: the weights of three ranks are 1, 1 and 1/2, so 1/2 over 5/2.

    >>> from leaderboard.measures.richer_examples import judged
    >>> near_err_8(judged({2: 1}), max_rel=2, cutoff=3)
    array([0.2])
    """
    hits = scaled_gains(judged, min_rel, max_rel, cutoff)
    return _score(judged, hits, np.ones(len(hits.rank)), lambda rank: rank.astype(np.float64), cutoff)


def near_err_9(judged: Judged, *, max_rel: int, min_rel: int = 0, cutoff: int) -> FloatArray:
    """The gain per document of a reader who tires with the rank, and stops when satisfied, (topics,).

    float64, from 0 to 1. C(i) = i / (i + 1) · (1 - gain(i)) down to the cutoff.
    Source: Azzopardi, Mackenzie and Moffat 2021.

    Grade 1 of 2 at rank 2: the weights of three ranks are 1, 1/2 and 1/6, so 1/4 over 5/3.

    >>> from leaderboard.measures.richer_examples import judged
    >>> near_err_9(judged({2: 1}), max_rel=2, cutoff=3)
    array([0.15])
    """
    hits = scaled_gains(judged, min_rel, max_rel, cutoff)
    return _score(judged, hits, 1.0 / hits.rank, harmonic, cutoff)


def near_err_10(
    judged: Judged, *, max_rel: int, min_rel: int = 0, p: float = 0.9, depth: int | None = None
) -> FloatArray:
    """The gain per document of a reader who continues with probability p unless satisfied, (topics,).

    float64, from 0 to 1. C(i) = p · (1 - gain(i)). depth: how many ranks the weights are spread over,
    without end by default. Source: Azzopardi, Mackenzie and Moffat 2021.

    Grade 1 of 2 at rank 1 and p = 1/2: the weights are 1, 1/4, 1/8, ..., so 1/2 over 3/2.

    >>> from leaderboard.measures.richer_examples import judged
    >>> near_err_10(judged({1: 1}), max_rel=2, p=0.5)
    array([0.33333333])
    """
    hits = scaled_gains(judged, min_rel, max_rel, depth)

    def weight_to(rank: IntArray) -> FloatArray:
        return (1.0 - powers(p, rank)) / (1.0 - p)

    return _score(judged, hits, powers(p, hits.rank - 1), weight_to, depth, 1.0 / (1.0 - p))


def near_err_11(
    judged: Judged, *, max_rel: int, min_rel: int = 0, T: float = 1.0, depth: int | None = None
) -> FloatArray:
    """The gain per document of a reader who wants T of it, and stops when satisfied, (topics,).

    float64, from 0 to 1. C(i) = ((i + 2T - 1) / (i + 2T))² · (1 - gain(i)). depth: how many ranks the
    weights are spread over, without end by default. Source: Azzopardi, Mackenzie and Moffat 2021.

    Grade 1 of 2 at rank 1 and T = 1/2: the weights are 1, then half of 1/4, 1/9, ...

    >>> from leaderboard.measures.richer_examples import judged
    >>> near_err_11(judged({1: 1}), max_rel=2, T=0.5).round(6)
    array([0.378081])
    """
    hits = scaled_gains(judged, min_rel, max_rel, depth)
    endless = float(squares_up_to(2.0 * T, None)[0])

    def weight_to(rank: IntArray) -> FloatArray:
        return endless - inverse_squares(rank + 2.0 * T)

    weight = 1.0 / np.square(hits.rank - 1 + 2.0 * T)
    return _score(judged, hits, weight, weight_to, depth, endless)


def _score(
    judged: Judged,
    hits: ScaledGains,
    weight: FloatArray,
    weight_to: Callable[[IntArray], FloatArray],
    depth: int | None,
    endless: float = 0.0,
) -> FloatArray:
    """The score where C(i) = c(i) · (1 - gain(i)).

    weight: the weight each hit would have without the others, c(1) · ... · c(i - 1); weight_to: the sum
    of these weights from rank 1 to a rank, infinite for all ranks, which counts if depth is None.
    """
    going_on = running(np.multiply, hits.starts, 1.0 - hits.gain)
    reached = before(hits.starts, going_on, 1.0)
    whole = endless if depth is None else float(weight_to(np.array([depth]))[0])
    # The share gain · reached of all readers stops at a hit; the others see every rank.
    total = judged.totals(hits.topic, hits.gain * reached * weight_to(hits.rank))
    total += whole * last(hits.starts, going_on, 1.0)
    return judged.totals(hits.topic, hits.gain * reached * weight) / total


PATIENCE = replace(PERSISTENCE, default=0.9)
PAPER = (
    "Azzopardi, Mackenzie and Moffat, ERR is not C/W/L: Exploring the Relationship Between Expected "
    "Reciprocal Rank and Other Metrics, ICTIR 2021"
)
_NOTE = "The number in the name is that of the paper's equation. Gains are linear in the grade."

NERR8 = Measure(
    name="NERR8",
    title="Nearly expected reciprocal rank, equation 8 (C/W/L)",
    formula="Σ over ranks i ≤ k of W(i) · gain(i), W(i) ∝ Π over j < i of (1 − gain(j)), Σ W(i) = 1",
    citation=PAPER,
    compute=near_err_8,
    parameters=(*SCALED, CUTOFF_REQUIRED, JUDGED_ONLY),
    needs=frozenset({"graded"}),
    note=_NOTE,
)

NERR9 = Measure(
    name="NERR9",
    title="Nearly expected reciprocal rank, equation 9 (C/W/L)",
    formula="Σ over ranks i ≤ k of W(i) · gain(i), W(i) ∝ 1/i · Π over j < i of (1 − gain(j)), Σ W(i) = 1",
    citation=PAPER,
    compute=near_err_9,
    parameters=(*SCALED, LISTED_CUTOFF, JUDGED_ONLY),
    needs=frozenset({"graded"}),
    note=_NOTE,
)

NERR10 = Measure(
    name="NERR10",
    title="Nearly expected reciprocal rank, equation 10 (C/W/L)",
    formula="Σ W(i) · gain(i), W(i) ∝ p^(i − 1) · Π over j < i of (1 − gain(j)), Σ W(i) = 1",
    citation=PAPER,
    compute=near_err_10,
    parameters=(*SCALED, PATIENCE, DEPTH, JUDGED_ONLY),
    needs=frozenset({"graded"}),
    note=f"{_NOTE} {ENDLESS}",
)

NERR11 = Measure(
    name="NERR11",
    title="Nearly expected reciprocal rank, equation 11 (C/W/L)",
    formula="Σ W(i) · gain(i), W(i) ∝ 1 / (i + 2T − 1)² · Π over j < i of (1 − gain(j)), Σ W(i) = 1",
    citation=PAPER,
    compute=near_err_11,
    parameters=(*SCALED, WANTED, DEPTH, JUDGED_ONLY),
    needs=frozenset({"graded"}),
    note=f"{_NOTE} {ENDLESS}",
)
