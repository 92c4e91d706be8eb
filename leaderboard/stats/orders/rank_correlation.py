"""Agreement of two scorings on the order of runs, and the runs that move most between them.

Scores are float64 (n,), one per run, higher is better. A correlation is from -1 (reversed) to 1 (the same
order), None where it is not defined: with fewer than two runs, or where a scoring ties all of them.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from leaderboard.memory import keep

FloatArray = NDArray[np.float64]

SignArray = NDArray[np.int8]
SAME = 1e-10
"""Relative difference below which values are equal up to rounding."""
FEW = 32
"""Orders whose pairs are all processed at once."""


def pair_signs(scores: FloatArray) -> SignArray:
    """1 where the first run of a pair is better, -1 where the second is, 0 where they tie.

    scores (orders, runs), higher is better; signs (orders, pairs), in the order of pairs().

    >>> pair_signs(np.array([[0.3, 0.2, 0.2]]))
    array([[1, 1, 0]], dtype=int8)
    """
    orders, runs = scores.shape
    peak = float(np.abs(scores).max(initial=0.0))
    if orders < FEW:
        first, second = _pairs(runs)
        return signs(scores[:, first] - scores[:, second], peak)
    of_pairs, at = np.empty((orders, runs * (runs - 1) // 2), np.int8), 0
    # A run against all after it at once: the differences of all pairs together would not stay in the cache.
    for run in range(runs - 1):
        behind = runs - 1 - run
        of_pairs[:, at : at + behind] = signs(scores[:, run : run + 1] - scores[:, run + 1 :], peak)
        at += behind
    return of_pairs


def pair_signs_alone(scores: FloatArray) -> SignArray:
    """The same where each order has its own scale: a rounding difference in one may count in another.

    >>> pair_signs_alone(np.array([[1e12, 0.0], [2.0, 1.0]]))
    array([[1],
           [1]], dtype=int8)
    """
    first, second = _pairs(scores.shape[1])
    return signs(scores[:, first] - scores[:, second], np.abs(scores).max(axis=1, initial=0.0)[:, None])


# Judges are compared with the same runs one after the other.
@keep
def _pairs(runs: int) -> tuple["np.ndarray[tuple[int], np.dtype[np.intp]]", ...]:
    return tuple(np.triu_indices(runs, 1))


def signs(differences: FloatArray, peak: float | FloatArray) -> SignArray:
    """The signs of differences of numbers up to peak, 0 for rounding differences."""
    above, below = differences > SAME * peak, differences < -SAME * peak
    signed: SignArray = above.view(np.int8) - below.view(np.int8)
    return signed


def taus(first: SignArray, second: SignArray) -> FloatArray:
    """Kendall's τ_b of each row, (orders,), from signs (orders, pairs); 0 where a side ties all runs.

    >>> taus(np.array([[1, 1, 1]], dtype=np.int8), np.array([[1, 1, -1]], dtype=np.int8))
    array([0.33333333])
    """
    agreement = (first * second).sum(axis=1, dtype=np.int64)
    untied = np.sqrt(np.count_nonzero(first, axis=1) * np.count_nonzero(second, axis=1))
    tau: FloatArray = agreement / np.maximum(untied, 1.0)
    return tau


IntArray = NDArray[np.int64]


def tau_b(first: FloatArray, second: FloatArray) -> float | None:
    """Kendall's tau_b: pairs in the same less pairs in the opposite order, corrected for ties.

    >>> round(tau_b(np.array([4.0, 3.0, 2.0, 1.0]), np.array([3.0, 4.0, 2.0, 1.0])), 6)
    0.666667
    """
    return float(_scipy().kendalltau(first, second).statistic) if _ordered(first, second) else None


def rho(first: FloatArray, second: FloatArray) -> float | None:
    """Spearman's rho: the correlation of the ranks, ties at their mean rank.

    >>> round(rho(np.array([4.0, 3.0, 2.0, 1.0]), np.array([3.0, 4.0, 2.0, 1.0])), 6)
    0.8
    """
    return float(_scipy().spearmanr(first, second).statistic) if _ordered(first, second) else None


def weighted_tau(first: FloatArray, second: FloatArray) -> float | None:
    """Vigna's weighted tau: a pair at ranks r and s weighs 1/r + 1/s, averaged over ranks by either order.

    Source: Vigna, A Weighted Correlation Index for Rankings with Ties, WWW 2015.

    The swapped pair, at ranks 1 and 2, weighs 3/2 of 11/3:

    >>> round(weighted_tau(np.array([3.0, 2.0, 1.0]), np.array([2.0, 3.0, 1.0])), 6)
    0.181818
    """
    return float(_scipy().weightedtau(first, second).statistic) if _ordered(first, second) else None


def tau_ap(estimate: FloatArray, truth: FloatArray) -> float | None:
    """AP correlation: going down the estimate, the mean share of runs above that belong there.

    Scaled to -1 to 1. Not symmetric: which order is walked matters. None also where either scoring has
    ties. Source: Yilmaz, Aslam and Robertson, A New Rank Correlation Coefficient for Information
    Retrieval, SIGIR 2008.

    The last run of the estimate has one of the two runs above it rightly there, the second has its one:

    >>> tau_ap(np.array([3.0, 2.0, 1.0]), np.array([3.0, 1.0, 2.0]))
    0.5
    """
    return tau_ap_a(estimate, truth) if len(np.unique(estimate)) == len(estimate) else None


def tau_ap_a(estimate: FloatArray, truth: FloatArray) -> float | None:
    """AP correlation with ties in the estimate: its mean over all orders of the tied runs.

    For an estimate compared with a true order; None also where the truth has ties. Without ties it is
    tau_ap. Source: Urbano and Marrero, The Treatment of Ties in AP Correlation, ICTIR 2017.

    Tied, the last two runs are in the true order half of the time:

    >>> tau_ap_a(np.array([3.0, 1.0, 1.0]), np.array([3.0, 1.0, 2.0]))
    0.75
    """
    n = len(truth)
    if n < 2 or len(np.unique(truth)) < n:
        return None
    above = _above(estimate)
    rank = above.sum(axis=1) + 1
    tied = (rank[:, None] == rank).sum(axis=1)
    agreeing = (above & _above(truth)).sum(axis=1)
    harmonic = np.concatenate(([0.0], np.cumsum(1 / np.arange(1, n + 1))))
    # A tied run is at each of its group's ranks equally often, with half of those above it rightly so.
    group = harmonic[rank + tied - 2] - harmonic[np.maximum(rank - 2, 0)]
    within = (tied - 1) - (rank - 1) * (harmonic[rank + tied - 2] - harmonic[rank - 1])
    agreeing_above = np.where(rank > 1, agreeing * group, 0.0) + within / 2
    return float(2 / (n - 1) * (agreeing_above / tied).sum() - 1)


def tau_ap_b(first: FloatArray, second: FloatArray) -> float | None:
    """AP correlation with ties in either order; symmetric, the mean of both directions.

    For two orders, where neither is the true one. A run is compared with those strictly above its ties.
    Source: Urbano and Marrero, The Treatment of Ties in AP Correlation, ICTIR 2017.

    >>> tau_ap_b(np.array([3.0, 2.0, 1.0]), np.array([3.0, 2.0, 2.0]))
    0.75
    """
    if not _ordered(first, second):
        return None
    above_first, above_second = _above(first), _above(second)
    agreeing = (above_first & above_second).sum(axis=1)
    shares = []
    for above in (above_first.sum(axis=1), above_second.sum(axis=1)):
        below_top = above > 0
        shares.append((agreeing[below_top] / above[below_top]).mean())
    return float(sum(shares) - 1)


@dataclass(frozen=True, slots=True, eq=False)
class Moves:
    """Ranks by each scoring, (n,); moves are positive where the second puts a run higher.

    order has all runs, those that move most first, among equal moves the one that is best by either.
    """

    first_rank: IntArray
    second_rank: IntArray
    move: IntArray
    order: IntArray


def largest_moves(first: FloatArray, second: FloatArray) -> Moves:
    """Runs whose rank changes most from one scoring to another; tied runs share the smallest rank.

    >>> moves = largest_moves(np.array([0.4, 0.3, 0.3, 0.1]), np.array([0.2, 0.3, 0.4, 0.1]))
    >>> moves.first_rank, moves.second_rank, moves.order
    (array([1, 2, 2, 4]), array([3, 2, 1, 4]), array([0, 2, 1, 3]))
    """
    ranks = [_above(scores).sum(axis=1) + 1 for scores in (first, second)]
    move = ranks[0] - ranks[1]
    return Moves(ranks[0], ranks[1], move, np.lexsort((np.minimum(*ranks), -np.abs(move))))


def _scipy() -> Any:
    # Half a second and 40 MB, which every site and command would pay at its start.
    from scipy import stats

    return stats


def _above(scores: FloatArray) -> NDArray[np.bool_]:
    """Whether the run of the column is strictly better than that of the row, (n, n)."""
    return scores > scores[:, None]


def _ordered(first: FloatArray, second: FloatArray) -> bool:
    return bool(len(first) > 1 and np.ptp(first) > 0 and np.ptp(second) > 0)
