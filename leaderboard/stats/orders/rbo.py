"""Rank-biased overlap of two rankings of which only the top is known, ties counted in three ways.

Of an endless ranking a reader goes on from one rank to the next with probability p; RBO is the expected
agreement of the part read: (1 - p)/p times the sum over depths d of p^d A_d, A_d the share of the top d
both have. Webber, Moffat and Zobel, A Similarity Measure for Indefinite Rankings, ACM Transactions on
Information Systems 28(4), 2010; uneven lengths and ties after Corsi and Urbano, The Treatment of Ties in
Rank-Biased Overlap, SIGIR 2024.
"""

import math
from collections.abc import Collection, Hashable, Sequence
from dataclasses import dataclass
from itertools import chain, pairwise
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from leaderboard.stats.orders.top_lists import Ranking

IntArray = NDArray[np.int64]
FloatArray = NDArray[np.float64]
TiedRanking = Sequence[Collection[Hashable]]
Ties = Literal["a", "w", "b"]


@dataclass(frozen=True, slots=True)
class Rbo:
    """Rank-biased overlap of two prefixes, each from 0 to 1.

    ext extrapolates the agreement seen to what lies below; min and max bound it whatever lies below, as
    long as that has no ties. An empty ranking shows no agreement and leaves all open: ext 0, min 0, max 1.
    """

    ext: float
    min: float
    max: float

    @property
    def res(self) -> float:
        """The residual: how much of the overlap what lies below could still decide."""
        return self.max - self.min


def rbo(first: Ranking, second: Ranking, p: float = 0.9) -> Rbo:
    """The rank-biased overlap of two rankings, which may differ in length.

    Raises ValueError where p is not between 0 and 1 or a ranking has a document twice.

    Agreement 0 at depth 1, then 1: with p = 1/2 half of the weight lies below depth 1.

    >>> rbo("ab", "ba", 0.5).ext
    0.5
    """
    return _rbo(_untied(first), _untied(second), p, "a")


def rbo_with_ties(first: TiedRanking, second: TiedRanking, p: float = 0.9, ties: Ties = "a") -> Rbo:
    """The rank-biased overlap of rankings given as groups of tied documents, best first.

    ties says what a tie means: "a" that the order is not known (for lists of one length the mean over all
    orders), "w" that the documents share a rank, "b" as "a", but a ranking agrees with itself fully for
    all its ties. Raises ValueError where p is not between 0 and 1, a group is empty or a document stands
    twice.

    >>> [round(rbo_with_ties(["ab"], ["ba"], 0.5, ties).ext, 6) for ties in ("a", "w", "b")]
    [0.75, 1.0, 1.0]
    """
    return _rbo(_tied(first), _tied(second), p, ties)


def tie_groups(ranking: Ranking, scores: Sequence[float]) -> list[tuple[Hashable, ...]]:
    """A ranking as groups of documents of equal score.

    Raises ValueError where the scores do not descend, or are not one a document.

    >>> tie_groups("abc", [2.0, 1.0, 1.0])
    [('a',), ('b', 'c')]
    """
    values = np.asarray(scores, dtype=np.float64)
    if len(values) != len(ranking):
        raise ValueError(f"a ranking of {len(ranking)} documents has {len(values)} scores")
    upper, lower = values[:-1], values[1:]
    if not (lower <= upper).all():
        raise ValueError("the scores of a ranking do not descend")
    ends = [*(np.flatnonzero(lower < upper) + 1).tolist(), len(ranking)] if len(ranking) else []
    return [tuple(ranking[start:end]) for start, end in pairwise([0, *ends])]


def weight_of_top(depth: int, p: float = 0.9) -> float:
    """The share of rank-biased overlap that the top depth ranks decide, from 0 to 1.

    Raises ValueError where depth is below 1 or p not between 0 and 1. Source: Webber, Moffat and Zobel 2010.

    >>> round(weight_of_top(10, 0.9), 4)
    0.8556
    """
    _check(p)
    if depth < 1:
        raise ValueError(f"the top {depth} ranks are none")
    return 1 - p ** (depth - 1) + (1 - p) / p * depth * _shares_below(depth - 1, p)


@dataclass(frozen=True, slots=True, eq=False)
class _Prefix:
    """A ranking as known: each document's last possible rank, and where each tie group ends."""

    last: dict[Hashable, int]
    ends: IntArray


def _untied(ranking: Ranking) -> _Prefix:
    last = dict(zip(ranking, range(1, len(ranking) + 1), strict=True))
    if len(last) < len(ranking):
        raise ValueError("a ranking has a document twice")
    return _Prefix(last, np.arange(1, len(ranking) + 1))


def _tied(groups: TiedRanking) -> _Prefix:
    sizes = np.array([len(group) for group in groups], dtype=np.int64)
    if (sizes == 0).any():
        raise ValueError("a group of tied documents is empty")
    ends = np.cumsum(sizes)
    last = dict(zip(chain.from_iterable(groups), np.repeat(ends, sizes).tolist(), strict=True))
    if len(last) < sizes.sum():
        raise ValueError("a ranking has a document twice")
    return _Prefix(last, ends)


@dataclass(frozen=True, slots=True, eq=False)
class _Depths:
    """A ranking at the depths 1 to l, (l,) each: which of its documents are in the top d.

    Those above the tie group that a depth cuts are, those of the group by a share each; past the end of
    the ranking all are.
    """

    above: IntArray
    within: IntArray
    share: FloatArray


def _depths(prefix: _Prefix, depth: IntArray, ties: Ties) -> _Depths:
    length = len(prefix.last)
    bounds = np.concatenate(([0], prefix.ends))
    group = np.searchsorted(bounds, np.minimum(depth, length))
    within = bounds[group]
    above = bounds[np.maximum(group - 1, 0)]
    share = np.ones(len(depth))
    cut = depth < within
    if ties != "w":
        share[cut] = (depth - above)[cut] / (within - above)[cut]
    return _Depths(above, within, share)


def _rbo(first: _Prefix, second: _Prefix, p: float, ties: Ties) -> Rbo:
    _check(p)
    shorter, longer = sorted((first.last, second.last), key=len)
    one, two = (first, second) if shorter is first.last else (second, first)
    depth = np.arange(1, len(longer) + 1)
    tops = _depths(one, depth, ties), _depths(two, depth, ties)
    lasts = [(last, longer[document]) for document, last in shorter.items() if document in longer]
    common = np.array(lasts, dtype=np.int64).reshape(-1, 2)
    overlap = _overlap(common, *tops)
    whole = _whole(*tops, depth, len(shorter), ties)
    # The agreement where the shorter ranking ends; nothing is seen of an empty one.
    seen = float((overlap / whole)[len(shorter) - 1]) if shorter else 0.0
    missing = np.maximum(depth - len(shorter), 0)
    expected, most = _unmatched(common[:, 1], tops[1], missing)

    def score(overlaps: FloatArray, below: float) -> float:
        return (1 - p) / p * (float((overlaps / whole * p**depth).sum()) + below)

    s, length, shared = len(shorter), len(longer), len(common)
    steady = (shared + (length - s) * seen) / length if longer else 0.0
    return Rbo(
        ext=score(overlap + seen * expected, steady * p ** (length + 1) / (1 - p)),
        min=score(overlap, shared * _shares_below(length, p)),
        max=score(overlap + most, _all_shared_below(length, s + length - shared, p)),
    )


def _overlap(common: IntArray, one: _Depths, two: _Depths) -> FloatArray:
    """By depth, the sum over the common documents of the shares in which both tops have them, (l,)."""
    neither = _both_within(common, one.above, two.above)
    first = _both_within(common, one.within, two.above) - neither
    second = _both_within(common, one.above, two.within) - neither
    both = _both_within(common, one.within, two.within) - first - second - neither
    overlap: FloatArray = neither + one.share * (first + two.share * both) + two.share * second
    return overlap


def _both_within(common: IntArray, one: IntArray, two: IntArray) -> IntArray:
    """By depth, how many common documents have their last ranks within the bounds, which never fall."""
    since = np.maximum(np.searchsorted(one, common[:, 0]), np.searchsorted(two, common[:, 1]))
    return np.cumsum(np.bincount(since, minlength=len(one) + 1)[: len(one)])


def _whole(one: _Depths, two: _Depths, depth: IntArray, shorter: int, ties: Ties) -> FloatArray:
    """By depth, the overlap that is full agreement, (l,); an ended ranking goes on without ties."""
    if ties == "a":
        return depth.astype(np.float64)
    first, second = (top.above + top.share**2 * (top.within - top.above) for top in (one, two))
    first = np.where(depth > shorter, depth, first)
    whole: FloatArray = (first + second) / 2.0 if ties == "w" else np.sqrt(first * second)
    return whole


def _unmatched(common: IntArray, longer: _Depths, missing: IntArray) -> tuple[FloatArray, FloatArray]:
    """By depth, what the shorter ranking's missing documents add if each is one only the longer has.

    Expected of any of those in the longer one's top, and the most: the highest of them first.
    """
    ends = np.sort(common)
    above = longer.above - np.searchsorted(ends, longer.above, side="right")
    within = longer.within - np.searchsorted(ends, longer.within, side="right")
    expected = missing * (above + longer.share * (within - above)) / np.maximum(within, 1)
    full = np.minimum(missing, above)
    return expected, full + longer.share * (np.minimum(missing, within) - full)


def _shares_below(length: int, p: float) -> float:
    """The sum of p^d / d over all depths d below a length: what a document shared above it adds there."""
    depth = np.arange(1, length + 1)
    return -math.log1p(-p) - float((p**depth / depth).sum())


def _all_shared_below(length: int, full: int, p: float) -> float:
    """The sum of agreements below a length where each further document is shared, complete at depth full."""
    depth = np.arange(length + 1, full + 1)
    return float(((2 * depth - full) / depth * p**depth).sum()) + p ** (full + 1) / (1 - p)


def _check(p: float) -> None:
    if not 0 < p < 1:
        raise ValueError(f"p is {p:g}; it must be above 0 and below 1")
