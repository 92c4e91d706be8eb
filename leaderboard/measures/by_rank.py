"""Measures at every rank of a ranking: of one topic as they run down it, and as means over topics."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from leaderboard.measures.judged import (
    FloatArray,
    IntArray,
    Judged,
    Judgments,
    log2_discounts,
    positions,
    ratio,
)


@dataclass(frozen=True, eq=False)
class Running:
    """One topic's scores had its ranking ended at each rank; each float64 (ranks,)."""

    precision: FloatArray
    recall: FloatArray
    average_precision: FloatArray
    ndcg: FloatArray
    dcg: FloatArray


def running(grades: IntArray, judged_grades: IntArray, level: int) -> Running:
    """P@k, R@k, AP@k, nDCG@k and DCG@k of one ranking at every rank k.

    grades: (ranks,) of its documents in rank order, any number below 0 for one that is not judged;
    judged_grades: (documents,) of all judged documents of the topic, retrieved or not; level: the
    lowest grade that counts as relevant, 1 or more. The last bit is that of the measures of these names.
    nDCG without a cut-off divides by the ideal gain of all judged documents, not of k of them, so it is
    smaller than the last value where a ranking is shorter than that.

    Relevant at ranks 1 and 3, a third one missed:

    >>> curve = running(np.array([2, -1, 1]), np.array([2, 1, 1, 0]), 1)
    >>> curve.precision.round(4), curve.average_precision.round(4)
    (array([1.    , 0.5   , 0.6667]), array([0.3333, 0.3333, 0.5556]))
    """
    rank = np.arange(1, len(grades) + 1)
    relevant = grades >= level
    hits = np.cumsum(relevant)
    total = np.full(len(grades), np.count_nonzero(judged_grades >= level))
    best = np.zeros(len(grades), np.int64)
    ideal = np.sort(judged_grades[judged_grades > 0])[::-1][: len(grades)]
    best[: len(ideal)] = ideal
    dcg = np.cumsum(np.maximum(grades, 0) / log2_discounts(rank))
    return Running(
        precision=hits / rank,
        recall=ratio(hits, total),
        average_precision=ratio(np.cumsum(np.where(relevant, hits / rank, 0.0)), total),
        ndcg=ratio(dcg, np.cumsum(best / log2_discounts(rank))),
        dcg=dcg,
    )


def mean_precision(judged: Judged, places: IntArray, depth: int, *, rel: int = 1) -> FloatArray:
    """The mean of P@k over the topics at these places of the judgments, at ranks 1 to depth, (depth,).

    0 where there is no topic.

    >>> from leaderboard.measures.richer_examples import judged
    >>> mean_precision(judged({1: 1, 4: 1}), np.array([0]), 4)
    array([1.        , 0.5       , 0.33333333, 0.5       ])
    """
    counted = (judged.grade >= rel) & _among(judged.topic, places, len(judged.judgments))
    sums = _sums_by_rank(judged.rank[counted], np.ones(int(counted.sum())), depth)
    return sums / (np.arange(1, depth + 1) * max(len(places), 1))


def mean_gain(judged: Judged, places: IntArray, depth: int, *, discounted: bool = False) -> FloatArray:
    """The mean cumulated gain over the topics at these places, at ranks 1 to depth, (depth,).

    The gain of a document is its grade; discounted divides it by log2(rank + 1). 0 where there is no
    topic. Source: Järvelin and Kekäläinen 2002.

    >>> from leaderboard.measures.richer_examples import judged
    >>> mean_gain(judged({1: 1, 3: 2}), np.array([0]), 4)
    array([1., 1., 3., 3.])
    """
    counted = (judged.grade > 0) & _among(judged.topic, places, len(judged.judgments))
    return _gains(judged.rank[counted], judged.grade[counted], depth, discounted) / max(len(places), 1)


def ideal_gain(judgments: Judgments, places: IntArray, depth: int, *, discounted: bool = False) -> FloatArray:
    """The mean cumulated gain of the best possible rankings, as `mean_gain`, (depth,).

    >>> from leaderboard.measures.richer_examples import judged
    >>> ideal_gain(judged({3: 1}, missed=[2, 0]).judgments, np.array([0]), 3)
    array([2., 3., 3.])
    """
    rank = positions(judgments.starts, judgments.topic)
    counted = (judgments.descending > 0) & _among(judgments.topic, places, len(judgments))
    return _gains(rank[counted], judgments.descending[counted], depth, discounted) / max(len(places), 1)


def _gains(rank: IntArray, grade: IntArray, depth: int, discounted: bool) -> FloatArray:
    gain = grade / log2_discounts(rank) if discounted else grade.astype(np.float64)
    return _sums_by_rank(rank, gain, depth)


def _sums_by_rank(rank: IntArray, values: FloatArray, depth: int) -> FloatArray:
    """The sum of the values at each of the ranks 1 to depth and those above it, (depth,)."""
    seen = rank <= depth
    at_rank = np.bincount(rank[seen], weights=values[seen], minlength=depth + 1)[1:]
    return np.cumsum(at_rank, dtype=np.float64)


def _among(topic: IntArray, places: IntArray, topics: int) -> NDArray[np.bool_]:
    chosen = np.zeros(topics, np.bool_)
    chosen[places] = True
    return chosen[topic]
