"""Fisher's randomisation test of every pair of runs: would the difference be as large by coin toss?

If two runs are alike, each topic's two scores might as well be swapped, which flips the sign of their
difference. Fisher, The Design of Experiments, 1935, section 21; for runs Smucker, Allan and Carterette, A
Comparison of Statistical Significance Tests for Information Retrieval Evaluation, CIKM 2007.
"""

from typing import NamedTuple

import numpy as np
from numpy.random import PCG64
from numpy.typing import NDArray

from leaderboard.stats.pairs.condensed import differences, pairs
from leaderboard.stats.pairs.signed_rank import BLOCK, TIE, Progress, exceedances, whole_numbers
from leaderboard.stats.seeds import Bits, bits, stream

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]

EXACT_TOPICS = 14
"""Up to this number of topics all 2^topics flips are enumerated instead of sampled."""
TOPICS = 256
"""Topics whose coins are in memory at once: 17 MB."""


class Randomisation(NamedTuple):
    """One value per pair, each (pairs,)."""

    p: FloatArray
    """Two-sided, above 0 and at most 1."""
    smallest: FloatArray
    """The p if the same differences all had one sign and no other flip of them were drawn."""
    resamples: int | None
    """Number of flips drawn; None where all were enumerated."""


def randomisation(
    scores: FloatArray, *, seed: int, resamples: int = 100_000, progress: Progress = lambda share: None
) -> Randomisation:
    """The test of all pairs of runs: scores (runs, topics), pairs as pairs() has them.

    p is the share of flips under which the means differ at least as much as they do, of all flips up to
    EXACT_TOPICS topics, else (1 + flips found) / (1 + flips drawn), so that it is never 0. progress is
    called with the share done. Raises ValueError where resamples is below 1.

    >>> result = randomisation(np.array([[0.5, 0.4, 0.7, 0.2, 0.6], [0.4, 0.4, 0.5, 0.1, 0.5]]), seed=1)
    >>> float(result.p[0]), result.resamples
    (0.125, None)
    """
    if resamples < 1:
        raise ValueError(f"a test with {resamples} flips is empty")
    topics = scores.shape[1]
    # What all runs share on a topic makes no difference; without it the sums are smaller.
    centred = scores - scores.mean(axis=0)
    whole = whole_numbers(centred, _largest_sum(centred))
    first, second = pairs(len(scores))
    sums = whole.sum(axis=1)
    least = np.abs(sums[first] - sums[second]) - TIE * _largest_sum(whole)
    all_one_sign = 0.5 ** np.maximum(_differing(scores) - 1.0, 0.0)
    if topics <= EXACT_TOPICS:
        # The other half of the flips are these with every sign changed, and differ as much.
        flips = 2 ** (topics - 1)
        extreme = exceedances(lambda block: _flipped(whole, _all(topics, block)), flips, least, progress)
        return Randomisation(extreme / flips, all_one_sign, None)
    extreme = exceedances(lambda block: _flipped(whole, stream(seed, block)), resamples, least, progress)
    p = (extreme + 1) / (resamples + 1)
    return Randomisation(p, np.maximum(all_one_sign, 1 / (resamples + 1)), resamples)


def _flipped(whole: FloatArray, coins: PCG64 | Bits) -> FloatArray:
    """The sums of the runs' scores, the sign of a topic's changed where its coin is 1, (runs, BLOCK)."""
    flipped = np.empty((len(whole), BLOCK))
    flipped[:] = whole.sum(axis=1)[:, None]
    for start in range(0, whole.shape[1], TOPICS):
        part = whole[:, start : start + TOPICS]
        thrown = bits(coins, part.shape[1], BLOCK) if isinstance(coins, PCG64) else coins
        flipped -= (2 * part) @ thrown.astype(np.float64)
    return flipped


def _all(topics: int, block: int) -> Bits:
    """One block of all ways in which the coins of the topics can fall, (topics, BLOCK)."""
    ways = np.arange(block * BLOCK, (block + 1) * BLOCK)
    return ((ways >> np.arange(topics)[:, None]) & 1).astype(np.uint8)


def _largest_sum(scores: FloatArray) -> float:
    return float(np.abs(scores).sum(axis=1).max(initial=0.0))


def _differing(scores: FloatArray) -> IntArray:
    """On how many topics the two runs of each pair differ, (pairs,)."""
    n = len(scores)
    counts = np.empty(n * (n - 1) // 2, dtype=np.int64)
    for block, difference in differences(scores):
        counts[block] = np.count_nonzero(difference, axis=1)
    return counts
