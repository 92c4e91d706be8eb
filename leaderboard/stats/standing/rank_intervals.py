"""Intervals of a run's rank on topics like these, and how often each run comes first.

Rank r of a run means that r - 1 runs are better; its interval is for the rank that infinitely many such
topics would give it.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import stdtrit

from leaderboard.stats.pairs.bootstrap import topic_counts
from leaderboard.stats.pairs.condensed import square
from leaderboard.stats.pairs.paired_t import paired_t
from leaderboard.stats.seeds import stream

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.intp]
_BLOCK = 1 << 20  # draws of a block, which has a stream of its own: another size draws other topics
_SAME = 1e-10  # means nearer than this share of the largest one are equal but for rounding


@dataclass(frozen=True, slots=True)
class RankIntervals:
    """Lowest and highest rank of every run, arrays (n,) from 1 to n.

    `low` and `high` hold the true rank of a run chosen beforehand with at least the confidence;
    `all_low` and `all_high` hold those of all runs at once. Both where differences are nearly normal:
    docs/statistics.md says how far skewed scores on few topics fall short.
    """

    low: IntArray
    high: IntArray
    all_low: IntArray
    all_high: IntArray
    confidence: float


@dataclass(frozen=True, slots=True)
class FirstPlaces:
    """How runs do on resampled topics, arrays (n,).

    `first` is the share of resamples that a run leads; runs that tie share it. `mean_rank` is its mean
    rank, ties sharing the smallest; `low` and `high` are percentiles of its rank. These describe the
    resamples. They are not an interval for the true rank: where runs are close they hold it far less often.
    """

    first: FloatArray
    mean_rank: FloatArray
    low: IntArray
    high: IntArray
    confidence: float
    resamples: int


def rank_intervals(scores: FloatArray, *, confidence: float = 0.95) -> RankIntervals:
    """Marginal and simultaneous intervals for the ranks of scores (n runs, T topics).

    A run's rank starts above the runs that are better in a paired t test and ends below those that are
    worse, at the level that is left of 1 - confidence for each of the comparisons: those with the n - 1
    other runs for its own interval, all n (n - 1) / 2 for the intervals of all runs (Bonferroni). Where
    differences are normal this holds at least the confidence, however the runs hang together. Ranks from
    intervals of differences: Mogstad, Romano, Shaikh and Wilhelm, Inference for ranks with applications to
    mobility across neighbourhoods and academic achievement across countries, Review of Economic Studies
    91(1), 2024; their bootstrap is not used. Of one topic nothing is known: 1 to n.

    >>> intervals = rank_intervals(np.array([[9, 8, 9, 7.5], [1, 2, 3, 4], [1, 3, 2, 4]]))
    >>> intervals.low.tolist(), intervals.high.tolist()
    ([1, 2, 2], [1, 3, 3])
    """
    runs, topics = scores.shape
    if runs < 2 or topics < 2:
        whole = np.ones(runs, dtype=np.int64), np.full(runs, runs)
        return RankIntervals(*whole, *whole, confidence)
    t = square(paired_t(scores).t, runs, mirrored=-1)
    own = _critical_t(runs - 1, topics - 1, confidence)
    everyone = _critical_t(runs * (runs - 1) // 2, topics - 1, confidence)
    return RankIntervals(
        low=1 + np.count_nonzero(t < -own, axis=1),
        high=runs - np.count_nonzero(t > own, axis=1),
        all_low=1 + np.count_nonzero(t < -everyone, axis=1),
        all_high=runs - np.count_nonzero(t > everyone, axis=1),
        confidence=confidence,
    )


def first_places(
    scores: FloatArray, *, seed: int, resamples: int = 10_000, confidence: float = 0.95
) -> FirstPlaces:
    """How often each run comes first, and between which ranks it stays, when topics are resampled.

    The percentile bootstrap over topics of scores (n runs, T topics): Efron and Tibshirani, An Introduction
    to the Bootstrap, 1993. The same seed gives the same numbers for ever.

    >>> shares = first_places(np.array([[0.9, 0.8, 0.9], [0.1, 0.2, 0.3], [0.1, 0.2, 0.3]]), seed=1)
    >>> shares.first.tolist(), shares.mean_rank.tolist(), shares.high.tolist()
    ([1.0, 0.0, 0.0], [1.0, 2.0, 2.0], [1, 2, 2])
    """
    return places(np.concatenate(list(resampled_means(scores, seed, resamples))), confidence=confidence)


def places(means: FloatArray, *, confidence: float = 0.95) -> FirstPlaces:
    """What the ranks by given resampled means (B resamples, n runs) say, see FirstPlaces."""
    resamples, runs = means.shape
    order = np.argsort(-means, axis=1, kind="stable")
    falling = np.take_along_axis(means, order, axis=1)
    drops = np.ones(means.shape, dtype=bool)
    drops[:, 1:] = falling[:, :-1] - falling[:, 1:] > _SAME * np.abs(means).max()
    rank = np.maximum.accumulate(np.where(drops, np.arange(runs), 0), axis=1)
    leads = np.where(rank == 0, 1 / np.count_nonzero(rank == 0, axis=1)[:, None], 0.0)
    counts = np.bincount((order * runs + rank).ravel(), minlength=runs * runs).reshape(runs, runs)
    below = counts.cumsum(axis=1) / resamples
    tail = (1 - confidence) / 2
    return FirstPlaces(
        first=np.bincount(order.ravel(), leads.ravel(), minlength=runs) / resamples,
        mean_rank=counts @ np.arange(1.0, runs + 1) / resamples,
        low=1 + (below >= tail - 1e-12).argmax(axis=1),
        high=1 + (below >= 1 - tail - 1e-12).argmax(axis=1),
        confidence=confidence,
        resamples=resamples,
    )


def resampled_means(scores: FloatArray, seed: int, resamples: int) -> Iterator[FloatArray]:
    """The means of n runs over topics drawn with replacement, in blocks (b, n) that make up B resamples."""
    topics = scores.shape[1]
    rows = max(1, _BLOCK // topics)
    for block, start in enumerate(range(0, resamples, rows)):
        counts = topic_counts(stream(seed, block), min(rows, resamples - start), topics)
        yield counts @ scores.T / topics


def _critical_t(comparisons: int, freedom: int, confidence: float) -> float:
    """What |t| exceeds in any of so many comparisons in at most 1 - confidence of cases."""
    return float(-stdtrit(freedom, (1 - confidence) / (2 * comparisons)))
