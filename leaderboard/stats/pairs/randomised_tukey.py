"""Randomised Tukey HSD: all pairs of runs against the largest difference that chance makes of their scores.

If all runs are alike, the scores of a topic might belong to any of them: they are shuffled topic by
topic, and the range of the means is what each observed difference has to reach. Carterette, Multiple Testing
in Statistical Analysis of Systems-Based Information Retrieval Experiments, ACM Transactions on Information
Systems 30(1), 2012.
"""

from collections.abc import Iterable, Iterator
from typing import NamedTuple

import numpy as np
from numpy.random import PCG64
from numpy.typing import NDArray

from leaderboard.stats.pairs.condensed import pairs
from leaderboard.stats.pairs.signed_rank import TIE, Progress
from leaderboard.stats.seeds import numbers, orders, stream

FloatArray = NDArray[np.float64]

LIBRARY = 2000
"""Random orders that are made from each topic's scores; every resample uses one of them per topic.

A single resample is as random as with fresh orders. Two share a topic's order with a chance of 1 in 2,000,
which adds at most p(1 - p) / 2,000 to the variance of a p.
"""
GROUP = 64
"""Topics whose sums make a library of their own, where there are more topics than this."""
BLOCK = 20_000
"""Resamples of one library: sums of 129 runs take 20 MB."""
AT_ONCE = 1024
"""Resamples whose scores stay in a core's own cache."""


class RandomisedTukey(NamedTuple):
    """One value per pair, and how many resamples it rests on."""

    p: FloatArray
    """Adjusted, (pairs,), above 0 and at most 1."""
    smallest: FloatArray
    """The p if every topic had the same best and the same worst run, (pairs,)."""
    resamples: int


def randomised_tukey(
    scores: FloatArray, *, seed: int, resamples: int = 100_000, progress: Progress = lambda share: None
) -> RandomisedTukey:
    """All pairs of runs: scores (runs, topics), pairs as pairs() has them.

    p is (1 + resamples whose range of means is at least the difference) / (1 + resamples). Assumes that all
    runs' scores vary alike, which a few erratic runs break. progress is called with the share done. Raises
    ValueError where resamples is below 1.

    >>> scores = np.array([[0.5, 0.4, 0.7, 0.2, 0.6], [0.4, 0.4, 0.5, 0.1, 0.5], [0.3, 0.5, 0.4, 0.2, 0.3]])
    >>> result = randomised_tukey(scores, seed=1)
    >>> result.p.round(2)
    array([0.47, 0.17, 0.96])
    """
    if resamples < 1:
        raise ValueError(f"a test with {resamples} resamples is empty")
    ranges = []
    for number, start in enumerate(range(0, resamples, BLOCK)):
        size = min(BLOCK, resamples - start)
        ranges.append(np.ptp(_dealt_sums(scores, stream(seed, number), size), axis=1))
        progress((start + size) / resamples)
    first, second = pairs(len(scores))
    sums = scores.sum(axis=1)
    least = np.abs(sums[first] - sums[second]) - TIE * np.abs(scores).sum(axis=1).max(initial=0.0)
    extreme = resamples - np.searchsorted(np.sort(np.concatenate(ranges)), least)
    # All topics have one best and one worst run by chance as rarely as all pick the same ordered pair.
    n, topics = scores.shape
    smallest = max(1 / (resamples + 1), float(max(2, n * (n - 1))) ** (1 - topics))
    return RandomisedTukey((extreme + 1) / (resamples + 1), np.full(len(first), smallest), resamples)


def _dealt_sums(scores: FloatArray, source: PCG64, resamples: int) -> FloatArray:
    """The runs' sums after each topic's scores are shuffled, (resamples, runs)."""
    n, topics = scores.shape
    library = orders(source, LIBRARY, n)
    if topics <= GROUP:
        return _combined(_dealt(scores, library, source), n, resamples, source)
    # Sums of a group of topics are drawn from like the scores of one topic.
    groups = (scores[:, group] for group in np.array_split(np.arange(topics), GROUP))
    tables = (_combined(_dealt(group, library, source), n, LIBRARY, source) for group in groups)
    return _combined(tables, n, resamples, source)


def _dealt(scores: FloatArray, library: NDArray[np.intp], source: PCG64) -> Iterator[FloatArray]:
    """A topic's scores in the orders of the library, (LIBRARY, runs), for each topic.

    Shuffled before, so that the same order means another one for another topic.
    """
    for topic in scores.T:
        yield topic[orders(source, 1, len(topic))[0]][library]


def _combined(tables: Iterable[FloatArray], n: int, resamples: int, source: PCG64) -> FloatArray:
    """Sums over the tables of a row drawn from each, (resamples, runs)."""
    sums = np.zeros((resamples, n))
    taken = np.empty((AT_ONCE, n))
    for table in tables:
        drawn = numbers(source, 1, resamples, len(table))[0]
        for start in range(0, resamples, AT_ONCE):
            rows = drawn[start : start + AT_ONCE]
            # Nothing is out of range: clipping only spares the check, and a copy with it.
            np.take(table, rows, axis=0, out=taken[: len(rows)], mode="clip")
            sums[start : start + AT_ONCE] += taken[: len(rows)]
    return sums
