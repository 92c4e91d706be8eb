"""The expected score of a run with ties, over all orders of its equal scores, in closed form.

Every order of tied documents is as likely as any other, so a document is equally likely at each rank of
its group. Source: McSherry and Najork, Computing Information Retrieval Performance Measures Efficiently
in the Presence of Tied Scores, ECIR 2008.
"""

from collections.abc import Callable

import numpy as np

from leaderboard.measures.curves import harmonic, powers
from leaderboard.measures.discounted_gain import discounts, worth
from leaderboard.measures.graded_gain import scaled_gains
from leaderboard.measures.judged import FloatArray, IntArray, sums
from leaderboard.measures.precision import up_from_a_tenth
from leaderboard.measures.record import Gains
from leaderboard.measures.ties.rankings import Tied

FAR = np.iinfo(np.int64).max // 4
"""A cut-off below every ranking."""


class _Groups:
    """The groups with a relevant document: topic, ranks above, documents, relevant ones, relevant above."""

    def __init__(self, tied: Tied, rel: int) -> None:
        relevant = tied.judged.grade >= rel
        topic, first = tied.judged.topic[relevant], tied.first[relevant]
        changes = np.ones(len(topic), np.bool_)
        changes[1:] = (topic[1:] != topic[:-1]) | (first[1:] != first[:-1])
        start = np.flatnonzero(changes)
        self.topics = len(tied.judged.judgments)
        self.topic = topic[start]
        self.above = first[start] - 1
        self.size = tied.size[relevant][start]
        self.relevant = np.diff(start, append=len(topic))
        self.relevant_above = start - np.searchsorted(topic, np.arange(self.topics))[self.topic]

    def within(self, cutoff: int | IntArray | None) -> IntArray:
        """Number of ranks of each group among the first cutoff ranks."""
        last = cutoff[self.topic] if isinstance(cutoff, np.ndarray) else (FAR if cutoff is None else cutoff)
        return np.clip(last - self.above, 0, self.size)

    def total(self, values: FloatArray) -> FloatArray:
        """The sum of a value of each group for each topic, (topics,)."""
        return sums(self.topic, values, self.topics)


def relevant_found(tied: Tied, *, rel: int, cutoff: int | IntArray | None) -> FloatArray:
    """The expected number of relevant documents in the top cutoff ranks, (topics,)."""
    groups = _Groups(tied, rel)
    return groups.total(groups.relevant * groups.within(cutoff) / groups.size)


def average_precision(tied: Tied, *, rel: int, cutoff: int | None) -> FloatArray:
    """The expected sum of the precisions at relevant documents, (topics,): AP before its division by R.

    At a rank of a group with r relevant of n documents a relevant one stands with probability r/n, and of
    the j ranks of its group above it then j · (r - 1)/(n - 1) are expected to be relevant.
    """
    groups = _Groups(tied, rel)
    ranks = groups.within(cutoff)
    slope = (groups.relevant - 1) / np.maximum(groups.size - 1, 1)
    constant = groups.relevant_above + 1 - slope * (groups.above + 1)
    inverses = harmonic(groups.above + ranks) - harmonic(groups.above)
    several = groups.relevant / groups.size * (slope * ranks + constant * inverses)
    alone = np.where(ranks > 0, (groups.relevant_above + 1) / (groups.above + 1), 0.0)
    return groups.total(np.where(groups.size > 1, several, alone))


def reciprocal_rank(tied: Tied, *, rel: int, cutoff: int | None) -> FloatArray:
    """The expected reciprocal rank, (topics,): only a topic's first group with a relevant document counts."""
    groups = _Groups(tied, rel)
    ranks = groups.within(cutoff)
    counts = (groups.relevant_above == 0) & (ranks > 0)
    expected: FloatArray = groups.total(np.where(counts & (groups.size == 1), 1.0 / (groups.above + 1), 0.0))
    for group in np.flatnonzero(counts & (groups.size > 1)).tolist():
        first = _first_relevant(int(groups.size[group]), int(groups.relevant[group]))[: int(ranks[group])]
        rank = groups.above[group] + np.arange(1, len(first) + 1)
        expected[groups.topic[group]] = float(np.cumsum(first / rank)[-1])
    return expected


def success(tied: Tied, *, rel: int, cutoff: int) -> FloatArray:
    """The probability of a relevant document in the top cutoff ranks, (topics,); hypergeometric."""
    groups = _Groups(tied, rel)
    ranks = groups.within(cutoff)
    none: FloatArray = (groups.total((ranks == groups.size).astype(np.float64)) == 0).astype(np.float64)
    for group in np.flatnonzero((ranks > 0) & (ranks < groups.size)).tolist():
        size, relevant, seen = (int(counts[group]) for counts in (groups.size, groups.relevant, ranks))
        fewer, more = sorted((relevant, seen))
        left = np.arange(size, size - fewer, -1)
        none[groups.topic[group]] *= float(np.prod(np.maximum(left - more, 0) / left))
    return 1.0 - none


def discounted(tied: Tied, *, value: FloatArray, dcg: str, cutoff: int | None) -> FloatArray:
    """The expected sum of the hits' values, (hits,), each over the discount of its rank, (topics,)."""
    last = int((tied.first + tied.size).max(initial=1))
    inverse = 1.0 / discounts(np.arange(1, last + 1), dcg)
    return _weighted(tied, value, np.concatenate(([0.0], np.cumsum(inverse))), cutoff)


def undiscounted(tied: Tied, *, cutoff: int | None) -> FloatArray:
    """The expected sum of the grades above 0 in the top cutoff ranks, (topics,)."""
    last = int((tied.first + tied.size).max(initial=1))
    return _weighted(tied, np.maximum(tied.judged.grade, 0), np.arange(last + 1, dtype=np.float64), cutoff)


def persistent(tied: Tied, *, value: FloatArray, p: float, cutoff: int | None) -> FloatArray:
    """The expected sum of the hits' values, (hits,), times p to the power of the ranks above, (topics,)."""
    last = int((tied.first + tied.size).max(initial=1))
    sums = np.concatenate(([0.0], np.cumsum(powers(p, np.arange(last)))))
    return _weighted(tied, value, sums, cutoff)


def _weighted(tied: Tied, value: FloatArray | IntArray, sums: FloatArray, cutoff: int | None) -> FloatArray:
    """Each hit's value times the mean weight of its group's ranks; sums[i] is the weight of ranks 1 to i."""
    above = tied.first - 1
    ranks = np.clip((FAR if cutoff is None else cutoff) - above, 0, tied.size)
    return tied.judged.totals(tied.judged.topic, value * (sums[above + ranks] - sums[above]) / tied.size)


def _first_relevant(size: int, relevant: int) -> FloatArray:
    """The probability that the first relevant one of a group stands at each of its ranks, from the top."""
    rank = np.arange(1, size - relevant + 1)
    others = np.concatenate(([1.0], np.cumprod((size - relevant - rank + 1) / (size - rank + 1))))
    return others * relevant / (size - np.arange(len(others)))


def _found(tied: Tied, *, rel: int, cutoff: int, **_: object) -> FloatArray:
    return relevant_found(tied, rel=rel, cutoff=cutoff)


def _found_in_top_r(tied: Tied, *, rel: int, mult: float | None = None) -> FloatArray:
    total = tied.judged.judgments.relevant(rel)
    return relevant_found(tied, rel=rel, cutoff=total if mult is None else up_from_a_tenth(mult, total))


def _gain(tied: Tied, *, dcg: str, gains: Gains | None, cutoff: int | None, **_: object) -> FloatArray:
    value = worth(tied.judged.judgments, gains, dcg)[tied.judged.document]
    return discounted(tied, value=value, dcg=dcg, cutoff=cutoff)


def _rbp(tied: Tied, *, rel: int, p: float, cutoff: int | None) -> FloatArray:
    return persistent(tied, value=(tied.judged.grade >= rel).astype(np.float64), p=p, cutoff=cutoff)


def _graded_rbp(tied: Tied, *, max_rel: int, min_rel: int, p: float, cutoff: int | None) -> FloatArray:
    value = np.zeros(len(tied.judged.grade))
    value[tied.judged.grade > min_rel] = scaled_gains(tied.judged, min_rel, max_rel).gain
    return persistent(tied, value=value, p=p, cutoff=cutoff)


EXPECTED: dict[str, Callable[..., FloatArray]] = {
    **dict.fromkeys(("P", "RelP", "R", "F", "FAlpha"), _found),
    **dict.fromkeys(("Rprec", "BreakEven"), _found_in_top_r),
    **dict.fromkeys(("nDCG", "DCG"), _gain),
    "CG": undiscounted,
    "RBP": _rbp,
    "gRBP": _graded_rbp,
    "AP": average_precision,
    "GMAP": lambda tied, *, rel: average_precision(tied, rel=rel, cutoff=None),
    "RR": reciprocal_rank,
    "Success": success,
}
"""Measure -> something equal to its score up to a factor of the topic; takes the measure's parameters."""
