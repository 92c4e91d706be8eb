"""What aggregates over members are worth, by the bootstrap: topics or members are drawn anew.

Efron and Tibshirani, An Introduction to the Bootstrap, 1993. The same seed gives the same numbers for ever.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from leaderboard.stats.pairs.bootstrap import resampled_sums
from leaderboard.stats.pairs.condensed import pairs
from leaderboard.stats.seeds import numbers, stream
from leaderboard.stats.suites.uncertainty import Drawn, by_shared_topic

FloatArray = NDArray[np.float64]
RESAMPLES = 2000


def resampled_aggregates(
    members: Sequence[FloatArray],
    weights: FloatArray,
    drawn: Drawn,
    topics: Sequence[Sequence[str]] = (),
    *,
    seed: int,
    resamples: int = RESAMPLES,
) -> FloatArray:
    """The runs' aggregates over resamples, (runs, resamples); the arguments are those of compare().

    Topics are drawn within each member; or members first, then topics within each that was drawn; or topics
    once for all members. Raises ValueError where resamples is below 1.

    >>> resampled_aggregates([np.array([[0.5, 0.5]])], np.ones(1), "topics", seed=1, resamples=3)
    array([[0.5, 0.5, 0.5]])
    """
    if resamples < 1:
        raise ValueError(f"{resamples} resamples say nothing")
    if drawn == "topics":
        parts = [
            weight * _means(scores, seed, resamples, number)
            for number, (scores, weight) in enumerate(zip(members, weights, strict=True))
        ]
        summed: FloatArray = np.sum(parts, axis=0)
        return summed
    if drawn == "members":
        return _over_drawn_members(members, seed, resamples)
    return _means(by_shared_topic(members, weights, topics), seed, resamples, 0)


def bootstrap_ends(aggregates: FloatArray, confidence: float = 0.95) -> tuple[FloatArray, FloatArray]:
    """Percentile intervals of all pairs' differences, first run less second, (pairs,) each.

    >>> [end.tolist() for end in bootstrap_ends(np.array([[0.5, 0.75], [0.25, 0.25]]), 0.5)]
    [[0.3125], [0.4375]]
    """
    tail = (1 - confidence) / 2
    first, second = pairs(len(aggregates))
    ends = np.empty((2, len(first)))
    for run in range(len(aggregates) - 1):
        block = first == run
        ends[:, block] = np.quantile(aggregates[run] - aggregates[second[block]], [tail, 1 - tail], axis=1)
    return ends[0], ends[1]


def _means(scores: FloatArray, seed: int, resamples: int, *block: int) -> FloatArray:
    means: FloatArray = resampled_sums(scores, stream(seed, *block), resamples) / scores.shape[1]
    return means


def _over_drawn_members(members: Sequence[FloatArray], seed: int, resamples: int) -> FloatArray:
    """Members drawn with replacement, and the topics of each anew every time it is drawn."""
    count = len(members)
    drawn = numbers(stream(seed, count), resamples, count, count)
    summed = np.zeros((len(members[0]), resamples))
    for number, scores in enumerate(members):
        for place in range(count):
            here = np.flatnonzero(drawn[:, place] == number)
            if len(here):
                summed[:, here] += _means(scores, seed, len(here), number, place)
    return summed / count
