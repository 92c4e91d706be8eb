"""Scores of runs by people's and a machine's labels together, each an (almost) unbiased estimate of people's.

Sums over ranks and the products of RR and ERR are unbiased, as documents are drawn independently of each
other and each has one rank. Ratios to an estimate, nDCG and AP, are biased by a hundredth or two, alike for
all runs: docs/statistics.md.
"""

import numpy as np

from leaderboard.stats.combined.labels import (
    FloatArray,
    IntArray,
    Labels,
    ValueOf,
    chance_of,
    gain_of,
    rectified,
    relevant_from,
)

NOWHERE = -1
"""In rankings: no document, or one outside of the pool."""


def in_rankings(values: FloatArray, rankings: IntArray) -> FloatArray:
    """The values of documents where the rankings, (runs, topics, ranks), have them; 0 for NOWHERE."""
    # NOWHERE is the place of what comes last.
    ranked: FloatArray = np.append(values, 0.0)[rankings]
    return ranked


def precision(labels: Labels, rankings: IntArray, *, cutoff: int, rel: int = 1) -> FloatArray:
    """P at a cutoff, (runs, topics); rankings: (runs, topics, ranks) of places in the labels, or NOWHERE."""
    ranked = in_rankings(rectified(labels, relevant_from(rel)), rankings[..., :cutoff])
    share: FloatArray = ranked.sum(axis=-1) / cutoff
    return share


def rank_biased(
    labels: Labels, rankings: IntArray, *, p: float, rel: int = 1, cutoff: int | None = None
) -> FloatArray:
    """Rank-biased precision of persistence p, (runs, topics)."""
    ranked = in_rankings(rectified(labels, relevant_from(rel)), rankings[..., :cutoff])
    score: FloatArray = (1 - p) * (ranked @ p ** np.arange(ranked.shape[-1]))
    return score


def dcg(
    labels: Labels, rankings: IntArray, *, cutoff: int | None = None, gain: ValueOf = gain_of
) -> FloatArray:
    """Discounted cumulative gain with the logarithm to base 2, (runs, topics)."""
    ranked = in_rankings(rectified(labels, gain), rankings[..., :cutoff])
    total: FloatArray = ranked @ discounts(ranked.shape[-1])
    return total


def ndcg(labels: Labels, rankings: IntArray, *, cutoff: int | None = None) -> FloatArray:
    """nDCG with the grade as gain, (runs, topics)."""
    scores: FloatArray = dcg(labels, rankings, cutoff=cutoff) / ideal_dcg(labels, cutoff)[None, :]
    return scores


def reciprocal_rank(
    labels: Labels, rankings: IntArray, *, rel: int = 1, cutoff: int | None = None
) -> FloatArray:
    """The reciprocal rank of the first relevant document, (runs, topics)."""
    return _cascade(in_rankings(rectified(labels, relevant_from(rel)), rankings[..., :cutoff]))


def expected_reciprocal_rank(
    labels: Labels, rankings: IntArray, *, max_rel: int, cutoff: int | None = None
) -> FloatArray:
    """ERR with the chances (2^grade - 1) / 2^max_rel to stop at a document, (runs, topics)."""
    return _cascade(in_rankings(rectified(labels, chance_of(max_rel)), rankings[..., :cutoff]))


def average_precision(
    labels: Labels, rankings: IntArray, *, rel: int = 1, cutoff: int | None = None
) -> FloatArray:
    """Average precision over the estimated number of relevant documents, (runs, topics)."""
    is_relevant = relevant_from(rel)
    values = rectified(labels, is_relevant)
    ranked = in_rankings(values, rankings[..., :cutoff])
    # In place: of all runs at once these are large, and each new array costs as much as the sum in it.
    terms = np.cumsum(ranked, axis=-1)
    terms -= ranked
    terms += 1
    terms *= ranked
    terms /= np.arange(1, ranked.shape[-1] + 1)
    relevant = np.bincount(labels.topic, weights=values, minlength=labels.topics)
    judged = is_relevant(labels.people) * labels.is_judged
    seen = np.bincount(labels.topic, weights=judged, minlength=labels.topics)
    total: FloatArray = terms.sum(axis=-1)
    return total / np.maximum(np.maximum(relevant, seen), 1.0)


def discounts(ranks: int) -> FloatArray:
    """1/log2(1 + rank) of the first ranks, (ranks,)."""
    weights: FloatArray = 1.0 / np.log2(np.arange(2, ranks + 2))
    return weights


def ideal_dcg(labels: Labels, cutoff: int | None = None) -> FloatArray:
    """The DCG of the best ranking of each topic, (topics,), at least 1.

    That of the estimated numbers of documents of each grade or more, parts of a document filled in linearly;
    no less than that of the documents that people judged.
    """
    longest = int(np.bincount(labels.topic, minlength=1).max())
    depth = longest if cutoff is None else cutoff
    reach = np.concatenate(([0.0], np.cumsum(discounts(depth))))
    highest = int(max(labels.people.max(initial=0), labels.machine.max(initial=0)))
    estimated, number = np.zeros(labels.topics), np.zeros(labels.topics)
    for grade in range(highest, 0, -1):
        values = rectified(labels, relevant_from(grade))
        here = np.clip(np.bincount(labels.topic, weights=values, minlength=labels.topics), 0, depth)
        # Documents of a higher grade have at least this one, whatever their estimate.
        number = np.maximum(number, here)
        estimated += np.interp(number, np.arange(depth + 1), reach)
    ideal: FloatArray = np.maximum(np.maximum(estimated, _judged_ideal(labels, reach)), 1.0)
    return ideal


def _judged_ideal(labels: Labels, reach: FloatArray) -> FloatArray:
    """The same of the documents that people judged alone; reach: (ranks + 1,) the sums of discounts."""
    judged = labels.is_judged
    best: FloatArray = np.zeros(labels.topics)
    for grade in range(1, int(labels.people.max(initial=0)) + 1):
        number = np.bincount(labels.topic[judged & (labels.people >= grade)], minlength=labels.topics)
        best += reach[np.minimum(number, len(reach) - 1)]
    return best


def _cascade(stops: FloatArray) -> FloatArray:
    """The expected reciprocal rank of the stop: (runs, topics) of chances to stop, (runs, topics, ranks)."""
    goes_on = np.cumprod(1 - stops, axis=-1).astype(np.float64, copy=False)
    reached = np.concatenate((np.ones_like(stops[..., :1]), goes_on[..., :-1]), axis=-1)
    total: FloatArray = (stops * reached / np.arange(1, stops.shape[-1] + 1)).sum(axis=-1)
    return total
