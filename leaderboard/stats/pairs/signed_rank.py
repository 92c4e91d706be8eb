"""Wilcoxon's signed-rank test of every pair of runs on shared topics.

Wilcoxon, Individual Comparisons by Ranking Methods, Biometrics Bulletin 1(6), 1945.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr

from leaderboard.stats.pairs.condensed import differences

FloatArray = NDArray[np.float64]


class SignedRank(NamedTuple):
    """One value per pair, each (pairs,)."""

    positive: FloatArray
    """The sum of the ranks of the topics the first run wins."""
    p: FloatArray
    """Two-sided, from 0 to 1."""
    smallest: FloatArray
    """The p if the same differences all had one sign: no smaller one was possible."""


def signed_rank(scores: FloatArray, *, correction: bool = False) -> SignedRank:
    """The test of all pairs of runs: scores (runs, topics), pairs as pairs() has them.

    As SciPy's wilcoxon with method="asymptotic", zero_method="wilcox", correction=False: topics without a
    difference are left out, differences of the same size share their mean rank, and the sum of ranks is
    treated as normal. Runs with the same scores have p 1. With correction a half is subtracted from the sum's
    distance from the middle, because it is discrete: R's wilcox.test does so by default.

    >>> result = signed_rank(np.array([[0.5, 0.4, 0.7, 0.2], [0.25, 0.5, 0.2, 0.2]]))
    >>> float(result.positive[0]), round(float(result.p[0]), 6)
    (5.0, 0.285049)
    """
    n = len(scores)
    positive, p, smallest = np.empty((3, n * (n - 1) // 2))
    for block, difference in differences(scores):
        positive[block], p[block], smallest[block] = _of_block(difference, 0.5 if correction else 0.0)
    return SignedRank(positive, p, smallest)


def _of_block(difference: FloatArray, step: float) -> tuple[FloatArray, FloatArray, FloatArray]:
    size = np.abs(difference)
    order = np.argsort(size, axis=1)
    size = np.take_along_axis(size, order, axis=1)
    won = np.take_along_axis(difference, order, axis=1) > 0
    zeros = np.count_nonzero(size == 0, axis=1)
    rank = _mean_ranks(size) - zeros[:, None]
    rank[size == 0] = 0.0
    positive = (rank * won).sum(axis=1)
    # The variance of a sum of ranks, where each counts or does not, is a quarter of that of their squares.
    error = np.sqrt(np.einsum("pt,pt->p", rank, rank)) / 2
    count = size.shape[1] - zeros
    middle = count * (count + 1) / 4
    away = np.zeros((2, len(size)))
    np.divide(np.maximum((np.abs(positive - middle), middle), step) - step, error, out=away, where=error > 0)
    p, smallest = 2 * ndtr(-away)
    return positive, p, smallest


def _mean_ranks(ascending: FloatArray) -> FloatArray:
    """The ranks from 1 in each row, equal values sharing their mean."""
    rows, columns = ascending.shape
    place = np.arange(columns)
    changes = ascending[:, 1:] != ascending[:, :-1]
    edge = np.ones((rows, 1), dtype=np.bool_)
    starts = np.maximum.accumulate(np.where(np.hstack((edge, changes)), place, 0), axis=1)
    ends = np.where(np.hstack((changes, edge)), place, columns)[:, ::-1]
    ends = np.minimum.accumulate(ends, axis=1)[:, ::-1]
    mean: FloatArray = (starts + ends) / 2 + 1
    return mean
