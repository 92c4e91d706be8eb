"""Wilcoxon's signed-rank test of every pair of runs on shared topics.

Wilcoxon, Individual Comparisons by Ranking Methods, Biometrics Bulletin 1(6), 1945.

Counts of resampled sums of two runs that differ as much as the observed ones: all pairs at once.

A resample is the same for all runs, so that a pair's resampled difference is the difference of two runs'
resampled sums: sums take runs x topics x resamples steps, not pairs x topics x resamples.
"""

from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from leaderboard.stats import special
from leaderboard.stats.pairs.condensed import differences

FloatArray = NDArray[np.float64]

IntArray = NDArray[np.int64]
Draw = Callable[[int], FloatArray]
"""Number of a block -> its resampled sums, (runs, BLOCK); only the needed part of the last block counts."""
Progress = Callable[[float], None]

LANES = 255
"""As many ones as a byte can count."""
BLOCK = LANES * 8 * 4
"""Resamples at a time: the sums of 129 runs take 8 MB."""
ROWS = 32
"""Pairs at a time: their differences take 2 MB, which a core's own cache holds."""
EXACT = 2.0**51
"""Whole numbers up to four times this are exact in double precision."""
TIE = 1e-10


def whole_numbers(scores: FloatArray, largest_sum: float) -> FloatArray:
    """Scores (runs, topics) as whole numbers whose sums, up to the scores' largest_sum, are exact.

    So a sum is the same in any order, which differs between linear algebra libraries and their
    numbers of threads. The factor is a power of two.
    """
    factor = 2.0 ** np.floor(np.log2(EXACT / largest_sum)) if largest_sum > 0 else 1.0
    whole: FloatArray = np.rint(scores * factor)
    return whole


def exceedances(draw: Draw, resamples: int, least: FloatArray, progress: Progress) -> IntArray:
    """In how many of the resamples each pair of runs differs by at least its least, (pairs,).

    least is (pairs,), in the order of pairs(); to count ties despite rounding, the caller lowers it by TIE of
    the largest sum. progress is called with the share done after each block.
    """
    counts = np.zeros(len(least), dtype=np.int64)
    differ, large = np.empty((ROWS, BLOCK)), np.zeros((ROWS, BLOCK), dtype=np.bool_)
    for number, start in enumerate(range(0, resamples, BLOCK)):
        size = min(BLOCK, resamples - start)
        if size < BLOCK:
            large[:, size:] = False
        sums = draw(number)[:, :size]
        for pairs, run, others in _portions(len(sums)):
            rows = len(least[pairs])
            np.subtract(sums[others], sums[run], out=differ[:rows, :size])
            np.abs(differ[:rows, :size], out=differ[:rows, :size])
            np.greater_equal(differ[:rows, :size], least[pairs, None], out=large[:rows, :size])
            counts[pairs] += _ones(large[:rows])
        progress((start + size) / resamples)
    return counts


def _portions(n: int) -> Iterator[tuple[slice, int, slice]]:
    """The pairs in portions of ROWS at most: which pairs, their first run, their second runs."""
    start = 0
    for run in range(n - 1):
        for first in range(run + 1, n, ROWS):
            others = slice(first, min(first + ROWS, n))
            yield slice(start, start := start + others.stop - first), run, others


def _ones(large: NDArray[np.bool_]) -> IntArray:
    """Number of true values in each row, (rows,)."""
    # Bytes are added eight at a time, as words, and so few of them that none runs over into the next.
    words = large.view(np.uint64).reshape(len(large), -1, LANES).sum(axis=2)
    ones: IntArray = words.view(np.uint8).sum(axis=1, dtype=np.int64)
    return ones


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
    p, smallest = 2 * special.ndtr(-away)
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
