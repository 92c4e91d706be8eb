"""The better run of each pair in many orders of the same runs, and Kendall's tau from these."""

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


def taus(one: SignArray, two: SignArray) -> FloatArray:
    """Kendall's τ_b of each row, (orders,), from signs (orders, pairs); 0 where a side ties all runs.

    >>> taus(np.array([[1, 1, 1]], dtype=np.int8), np.array([[1, 1, -1]], dtype=np.int8))
    array([0.33333333])
    """
    agreement = (one * two).sum(axis=1, dtype=np.int64)
    untied = np.sqrt(np.count_nonzero(one, axis=1) * np.count_nonzero(two, axis=1))
    tau: FloatArray = agreement / np.maximum(untied, 1.0)
    return tau
