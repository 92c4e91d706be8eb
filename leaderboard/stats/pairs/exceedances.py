"""Counts of resampled sums of two runs that differ as much as the observed ones: all pairs at once.

A resample is the same for all runs, so that a pair's resampled difference is the difference of two runs'
resampled sums: sums take runs x topics x resamples steps, not pairs x topics x resamples.
"""

from collections.abc import Callable, Iterator

import numpy as np
from numpy.typing import NDArray

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
