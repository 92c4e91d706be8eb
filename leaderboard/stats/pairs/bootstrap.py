"""The bootstrap of topics: intervals of the mean difference of every pair of runs, and a test.

Topics are drawn with replacement, as many as there are, the same for all runs. Efron and Tibshirani, An
Introduction to the Bootstrap, 1993; for runs Sakai, Evaluating Evaluation Metrics Based on the Bootstrap,
SIGIR 2006.
"""

from typing import NamedTuple

import numpy as np
from numpy.random import PCG64
from numpy.typing import NDArray

from leaderboard.stats import special
from leaderboard.stats.pairs.condensed import differences, pairs
from leaderboard.stats.pairs.signed_rank import BLOCK, TIE, Progress, exceedances, whole_numbers
from leaderboard.stats.seeds import numbers, stream

FloatArray = NDArray[np.float64]

AT_ONCE = 2**20
"""Counts of topics in memory at once: 8 MB."""
DRAWN_AT_ONCE = 15_000
"""Numbers of topics at once: 120 KB, so that the memory that was just used serves again."""
FEW_RUNS = 4
"""The scores of so few runs are added as they are drawn, which takes less time than counting the topics."""


class Bootstrap(NamedTuple):
    """One value per pair, each (pairs,)."""

    p: FloatArray
    """Two-sided, above 0 and at most 1."""
    smallest: FloatArray
    """The smallest p that this number of resamples can give."""
    resamples: int


class Intervals(NamedTuple):
    """Intervals of the mean difference, first run less second, each (pairs,)."""

    low: FloatArray
    """Percentile."""
    high: FloatArray
    corrected_low: FloatArray
    """Bias-corrected and accelerated (BCa)."""
    corrected_high: FloatArray


def topic_counts(source: PCG64, resamples: int, topics: int) -> FloatArray:
    """Number of draws of each topic, (resamples, topics); rows sum to the number of topics.

    >>> topic_counts(stream(1), 2, 3)
    array([[0., 2., 1.],
           [2., 0., 1.]])
    """
    drawn = numbers(source, resamples, topics, topics)
    drawn += topics * np.arange(resamples)[:, None]
    counts = np.bincount(drawn.ravel(), minlength=resamples * topics)
    return counts.reshape(resamples, topics).astype(np.float64)


def resampled_sums(scores: FloatArray, source: PCG64, resamples: int) -> FloatArray:
    """The runs' sums over resampled topics, (runs, resamples): scores (runs, topics).

    >>> resampled_sums(np.array([[0.0, 1.0, 2.0], [1.0, 1.0, 1.0]]), stream(1), 3)
    array([[4., 2., 4.],
           [3., 3., 3.]])
    """
    n, topics = scores.shape
    sums = np.empty((n, resamples))
    step = max(1, AT_ONCE // topics)
    for start in range(0, resamples, step):
        size = min(step, resamples - start)
        block = slice(start, start + size)
        if n > FEW_RUNS:
            sums[:, block] = scores @ topic_counts(source, size, topics).T
            continue
        _add_drawn(scores, source, sums[:, block])
    return sums


def _add_drawn(scores: FloatArray, source: PCG64, sums: FloatArray) -> None:
    """Fill in sums, (runs, columns), of the scores (runs, topics) over the topics drawn for each column."""
    topics, columns = scores.shape[1], sums.shape[1]
    # An even number of resamples at a time: two numbers are made from one of the source.
    step = max(2, DRAWN_AT_ONCE // topics // 2 * 2)
    for start in range(0, columns, step):
        drawn = numbers(source, min(step, columns - start), topics, topics)
        for run, values in enumerate(scores):
            sums[run, start : start + step] = values.take(drawn).sum(axis=1) if values.any() else 0.0


def bootstrap(
    scores: FloatArray, *, seed: int, resamples: int = 100_000, progress: Progress = lambda share: None
) -> Bootstrap:
    """The shift test of all pairs of runs: scores (runs, topics), pairs as pairs() has them.

    p is the share of resamples whose mean difference is off the observed one by at least that one's size,
    counted as (1 + found) / (1 + drawn), so that it is never 0. One topic leaves nothing to draw: p 1.
    progress is called with the share done. Raises ValueError where resamples is below 1.

    >>> result = bootstrap(np.array([[0.5, 0.4, 0.7, 0.2, 0.6], [0.4, 0.4, 0.5, 0.1, 0.5]]), seed=1)
    >>> round(float(result.p[0]), 3)
    0.001
    """
    if resamples < 1:
        raise ValueError(f"a test with {resamples} resamples is empty")
    n, topics = scores.shape
    first, second = pairs(n)
    if topics == 1:
        return Bootstrap(np.ones(len(first)), np.ones(len(first)), resamples)
    # What all runs share on a topic makes no difference; without it the sums are smaller.
    centred = scores - scores.mean(axis=0)
    whole = whole_numbers(centred, topics * float(np.abs(centred).max(initial=0.0)))
    sums = whole.sum(axis=1)
    least = np.abs(sums[first] - sums[second]) - TIE * float(np.abs(whole).sum(axis=1).max(initial=0.0))
    if n == 2:
        # Of one pair the sums of the differences are enough: whole numbers, so that they are as exact.
        whole = np.array([np.zeros(topics), whole[1] - whole[0]])
        sums = whole.sum(axis=1)

    def draw(block: int) -> FloatArray:
        moved: FloatArray = resampled_sums(whole, stream(seed, block), BLOCK) - sums[:, None]
        return moved

    at_least = exceedances(draw, resamples, least, progress) + 1
    return Bootstrap(at_least / (resamples + 1), np.full(len(first), 1 / (resamples + 1)), resamples)


def bootstrap_intervals(
    scores: FloatArray, *, seed: int, resamples: int = 10_000, confidence: float = 0.95
) -> Intervals:
    """Intervals of the mean difference of all pairs of runs: scores (runs, topics).

    Between quantiles of the resampled mean differences: those of the confidence itself (percentile), and
    those that make up for its bias and for a spread that changes with the difference (BCa; Efron, Better
    Bootstrap Confidence Intervals, Journal of the American Statistical Association 82, 1987). Where every
    resample gives the same, so does the interval. Raises ValueError where resamples is below 1 or the
    confidence is not between 0 and 1.

    >>> intervals = bootstrap_intervals(
    ...     np.array([[0.5, 0.4, 0.7, 0.2, 0.6], [0.4, 0.4, 0.5, 0.1, 0.5]]), seed=1
    ... )
    >>> [round(float(end[0]), 2) for end in intervals]
    [0.04, 0.16, 0.04, 0.16]
    """
    if resamples < 1:
        raise ValueError(f"an interval of {resamples} resamples is empty")
    if not 0 < confidence < 1:
        raise ValueError(f"a confidence of {confidence} is not between 0 and 1")
    n, topics = scores.shape
    drawn = np.hstack(
        [
            resampled_sums(scores, stream(seed, block), min(BLOCK, resamples - start))
            for block, start in enumerate(range(0, resamples, BLOCK))
        ]
    )
    drawn /= topics
    acceleration = _accelerations(scores)
    tie = TIE * float(np.abs(scores).max(initial=0.0))
    ends = np.empty((4, n * (n - 1) // 2))
    start = 0
    for run in range(n - 1):
        block = slice(start, start := start + n - 1 - run)
        mean = (scores[run] - scores[run + 1 :]).mean(axis=1, keepdims=True)
        resampled = np.sort(drawn[run] - drawn[run + 1 :], axis=1)
        # Half of what ties with the observed mean counts as below it: with few different scores much ties.
        below = np.count_nonzero(resampled < mean - tie, axis=1) / 2
        below += np.count_nonzero(resampled <= mean + tie, axis=1) / 2
        ends[:, block] = _ends(resampled, below / resamples, acceleration[block], confidence)
    return Intervals(*ends)


def _ends(
    resampled: FloatArray, below: FloatArray, acceleration: FloatArray, confidence: float
) -> FloatArray:
    """Both ends of both intervals of some pairs, (4, pairs): resampled (pairs, resamples), ascending."""
    least = 0.5 / resampled.shape[1]
    bias = special.ndtri(np.clip(below, least, 1 - least))
    ends = np.array([(1 - confidence) / 2, (1 + confidence) / 2])
    moved = bias[:, None] + special.ndtri(ends)
    # The whole distribution is beyond the point where this reaches 0.
    slowed = np.maximum(1 - acceleration[:, None] * moved, 1e-9)
    corrected = special.ndtr(bias[:, None] + moved / slowed)
    shares = np.hstack((np.broadcast_to(ends, corrected.shape), corrected))
    return _quantiles(resampled, shares).T


def _quantiles(ascending: FloatArray, shares: FloatArray) -> FloatArray:
    """Of each row the values at its shares, (rows, shares), linear between the nearest two."""
    place = shares * (ascending.shape[1] - 1)
    before = np.floor(place).astype(np.intp)
    after = np.minimum(before + 1, ascending.shape[1] - 1)
    low, high = (np.take_along_axis(ascending, at, axis=1) for at in (before, after))
    value: FloatArray = low + (place - before) * (high - low)
    return value


def _accelerations(scores: FloatArray) -> FloatArray:
    """Acceleration: change of the standard error with the mean difference, by jackknife, (pairs,)."""
    n = len(scores)
    accelerations = np.zeros(n * (n - 1) // 2)
    for block, difference in differences(scores):
        difference -= difference.mean(axis=1, keepdims=True)
        square = np.square(difference)
        spread = square.sum(axis=1) ** 1.5
        square *= difference
        np.divide(square.sum(axis=1), 6 * spread, out=accelerations[block], where=spread > 0)
    return accelerations
