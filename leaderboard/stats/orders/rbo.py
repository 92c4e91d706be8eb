"""Rank-biased overlap of two rankings with only their tops known, ties counted in three ways.

A reader of an infinite ranking continues from one rank to the next with probability p; RBO is the expected
agreement of the part read: (1 - p)/p times the sum over depths d of p^d A_d, A_d the share of the top d
both have. Webber, Moffat and Zobel, A Similarity Measure for Indefinite Rankings, ACM Transactions on
Information Systems 28(4), 2010; uneven lengths and ties after Corsi and Urbano, The Treatment of Ties in
Rank-Biased Overlap, SIGIR 2024.
"""

import math
from collections.abc import Collection, Hashable, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import chain, pairwise, repeat
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from leaderboard.stats.orders.top_lists import Ranking

IntArray = NDArray[np.int64]
FloatArray = NDArray[np.float64]
Scores = Sequence[float] | FloatArray
TiedRanking = Sequence[Collection[Hashable]]
Ties = Literal["a", "w", "b"]
_NONE: FloatArray = np.zeros(1)


@dataclass(frozen=True, slots=True)
class Rbo:
    """Rank-biased overlap of two prefixes, each from 0 to 1.

    ext extrapolates the observed agreement to the ranks below; min and max bound it for any ranks below, as
    long as they have no ties. An empty ranking shows no agreement and leaves all open: ext 0, min 0, max 1.
    """

    ext: float
    min: float
    max: float

    @property
    def res(self) -> float:
        """The residual: the part of the overlap that ranks below could still decide."""
        return self.max - self.min


def rbo(first: Ranking, second: Ranking, p: float = 0.9) -> Rbo:
    """The rank-biased overlap of two rankings, which may differ in length.

    Raises ValueError where p is not between 0 and 1 or a ranking has a document twice.

    Agreement 0 at depth 1, then 1: with p = 1/2 half of the weight is below depth 1.

    >>> rbo("ab", "ba", 0.5).ext
    0.5
    """
    return RankedPair(shared_places(first, second), untied(first), untied(second)).rbo(p)


def rbo_with_ties(first: TiedRanking, second: TiedRanking, p: float = 0.9, ties: Ties = "a") -> Rbo:
    """The rank-biased overlap of rankings given as groups of tied documents, best first.

    ties says what a tie means: "a" that the order is not known (for lists of one length the mean over all
    orders), "w" that the documents share a rank, "b" as "a", but a ranking agrees with itself fully for all
    its ties. Raises ValueError where p is not between 0 and 1, a group is empty or a document occurs twice.

    >>> [round(rbo_with_ties(["ab"], ["ba"], 0.5, ties).ext, 6) for ties in ("a", "w", "b")]
    [0.75, 1.0, 1.0]
    """
    first_documents, second_documents = (list(chain.from_iterable(groups)) for groups in (first, second))
    sizes = (np.array([len(group) for group in groups], dtype=np.int64) for groups in (first, second))
    return RankedPair(shared_places(first_documents, second_documents), *sizes).rbo(p, ties)


def rbo_within(first: Ranking, second: Ranking, p: float = 0.9) -> float:
    """The rank-biased overlap of the known ranks alone: the weights of its depths sum to 1.

    For orders of one finite set, such as the runs of a board, below which there is nothing to guess. Raises
    ValueError as rbo does, and for two empty rankings.

    >>> round(rbo_within("ABCDE", "ACBDE"), 6)
    0.890113
    """
    return RankedPair(shared_places(first, second), untied(first), untied(second)).within(p)


def shared_places(first: Ranking, second: Ranking) -> IntArray:
    """The places, from 0 on, that the documents in both rankings have in either, (documents, 2).

    Raises ValueError where a ranking has a document twice.

    >>> shared_places("abc", "xca").tolist()
    [[0, 2], [2, 1]]
    """
    places = dict(zip(second, range(len(second)), strict=True))
    if len(places) < len(second) or len(set(first)) < len(first):
        raise ValueError("a ranking has a document twice")
    elsewhere = np.array(list(map(places.get, first, repeat(-1))), dtype=np.int64)
    here = np.flatnonzero(elsewhere >= 0)
    return np.column_stack((here, elsewhere[here]))


def tie_groups(ranking: Ranking, scores: Scores) -> list[tuple[Hashable, ...]]:
    """A ranking as groups of documents of equal score.

    Raises ValueError where the scores do not descend, or are not one per document.

    >>> tie_groups("abc", [2.0, 1.0, 1.0])
    [('a',), ('b', 'c')]
    """
    ends = np.cumsum(tie_sizes(ranking, scores)).tolist()
    return [tuple(ranking[start:end]) for start, end in pairwise([0, *ends])]


def untied(ranking: Ranking) -> IntArray:
    """The tie_sizes of a ranking without ties."""
    return np.ones(len(ranking), dtype=np.int64)


def tie_sizes(ranking: Ranking, scores: Scores) -> IntArray:
    """Sizes of groups of equal scores, from the best on; raises ValueError as tie_groups does."""
    values = np.asarray(scores, dtype=np.float64)
    if len(values) != len(ranking):
        raise ValueError(f"a ranking of {len(ranking)} documents has {len(values)} scores")
    upper, lower = values[:-1], values[1:]
    if not (lower <= upper).all():
        raise ValueError("the scores of a ranking do not descend")
    starts = np.flatnonzero(np.concatenate(([True] * bool(len(values)), lower < upper)))
    return np.diff(starts, append=len(values))


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


class RankedPair:
    """Two rankings as overlap sees them: which documents they share, and which of their documents are tied.

    places are those of shared_places; first and second how many documents each tie has, from the best on.
    Values independent of p and of the meaning of ties are computed once. Raises ValueError for a tie without
    documents.
    """

    def __init__(self, places: IntArray, first: IntArray, second: IntArray) -> None:
        if not (first.all() and second.all()):
            raise ValueError("a group of tied documents is empty")
        sides = [(sizes, places[:, at]) for at, sizes in enumerate((first, second))]
        (shorter, _), (longer, _) = ordered = sorted(sides, key=lambda side: int(side[0].sum()))
        self._shorter, self._longer = int(shorter.sum()), int(longer.sum())
        self._depth = np.arange(1, self._longer + 1, dtype=np.float64)
        # The last possible ranks of what both have, in the shorter ranking and in the longer one.
        self._common = np.column_stack([_last(sizes)[at] for sizes, at in ordered])
        self._tops = _depths(shorter, self._depth), _depths(longer, self._depth)
        self._has_ties = len(shorter) < self._shorter or len(longer) < self._longer
        self._within = _both_within(self._common, self._tops[0].within, self._tops[1].within)

    def rbo(self, p: float, ties: Ties = "a") -> Rbo:
        """The rank-biased overlap; raises ValueError where p is not between 0 and 1."""
        _check(p)
        s, length, shared = self._shorter, self._longer, len(self._common)
        overlap = self._overlap(ties)
        most = overlap + self._unmatched(ties)[1]
        return Rbo(
            ext=self.extrapolated(p, ties),
            min=self._score(overlap, p, ties, shared * _shares_below(length, p)),
            max=self._score(most, p, ties, _all_shared_below(length, s + length - shared, p)),
        )

    def extrapolated(self, p: float, ties: Ties = "a") -> float:
        """Its ext alone; raises ValueError where p is not between 0 and 1."""
        _check(p)
        s, length, shared = self._shorter, self._longer, len(self._common)
        overlap = self._overlap(ties)
        # The agreement where the shorter ranking ends; nothing is seen of an empty one.
        seen = float(overlap[s - 1] / self._whole(ties)[s - 1]) if s else 0.0
        steady = (shared + (length - s) * seen) / length if length else 0.0
        expected = overlap + seen * self._unmatched(ties)[0]
        return self._score(expected, p, ties, steady * p ** (length + 1) / (1 - p))

    def within(self, p: float) -> float:
        """The weighted mean agreement at the depths of the longer one; raises ValueError as rbo_within."""
        _check(p)
        if not self._longer:
            raise ValueError("two empty rankings have no depth to agree at")
        weights = _powers(p, self._longer)
        return float((self._overlap("a") / self._whole("a") * weights).sum() / weights.sum())

    def _score(self, overlap: FloatArray, p: float, ties: Ties, below: float) -> float:
        weighed = overlap / self._whole(ties) * _powers(p, self._longer)
        return (1 - p) / p * (float(weighed.sum()) + below)

    def _overlap(self, ties: Ties) -> FloatArray:
        return self._within.astype(np.float64) if self._ignores(ties) else self._cut_overlap

    def _ignores(self, ties: Ties) -> bool:
        """Whether tied documents are all in a top or all not in it."""
        return ties == "w" or not self._has_ties

    @cached_property
    def _cut_overlap(self) -> FloatArray:
        """By depth, the sum over the common documents of the shares in which both tops have them, (l,)."""
        depths, two = self._tops
        neither = _both_within(self._common, depths.above, two.above)
        first = _both_within(self._common, depths.within, two.above) - neither
        second = _both_within(self._common, depths.above, two.within) - neither
        both = self._within - first - second - neither
        overlap: FloatArray = neither + depths.share * (first + two.share * both) + two.share * second
        return overlap

    def _whole(self, ties: Ties) -> FloatArray:
        """By depth, the overlap that is full agreement, (l,); an ended ranking continues without ties."""
        if ties == "a" or not self._has_ties:
            return self._depth
        full = ((top, self._share(top, ties)) for top in self._tops)
        first, second = (top.above + share**2 * (top.within - top.above) for top, share in full)
        first = np.where(self._depth > self._shorter, self._depth, first)
        whole: FloatArray = (first + second) / 2.0 if ties == "w" else np.sqrt(first * second)
        return whole

    def _unmatched(self, ties: Ties) -> tuple[FloatArray, FloatArray]:
        """By depth, what the shorter ranking's missing documents add if each is one only the longer has.

        Expected of any of those in the longer one's top, and the most: the highest of them first.
        """
        if self._shorter == self._longer:
            return _NONE, _NONE
        longer, missing = self._tops[1], np.maximum(self._depth - self._shorter, 0)
        share, ends = self._share(longer, ties), np.sort(self._common[:, 1])
        above = longer.above - np.searchsorted(ends, longer.above, side="right")
        within = longer.within - np.searchsorted(ends, longer.within, side="right")
        expected = missing * (above + share * (within - above)) / np.maximum(within, 1)
        full = np.minimum(missing, above)
        return expected, full + share * (np.minimum(missing, within) - full)

    def _share(self, top: "_Depths", ties: Ties) -> FloatArray:
        return np.ones(len(top.share)) if ties == "w" else top.share


@dataclass(frozen=True, slots=True, eq=False)
class _Depths:
    """A ranking at the depths 1 to l, (l,) each: which of its documents are in the top d.

    Those above the tie group that a depth cuts are, those of the group by a share each; past the end of
    the ranking all are.
    """

    above: IntArray
    within: IntArray
    share: FloatArray


def _last(sizes: IntArray) -> IntArray:
    """The last possible rank of every document, (documents,)."""
    return np.repeat(np.cumsum(sizes), sizes)


def _depths(sizes: IntArray, depth: FloatArray) -> _Depths:
    within, ends = _last(sizes), np.cumsum(sizes)
    above = within - np.repeat(sizes, sizes)
    beyond = len(depth) - len(within)
    if beyond:
        # Past the end nothing is cut; the part above the last group is unchanged.
        within = np.concatenate((within, np.full(beyond, ends[-1] if len(ends) else 0)))
        above = np.concatenate((above, np.full(beyond, ends[-1] - sizes[-1] if len(ends) else 0)))
    share = np.ones(len(depth))
    cut = depth < within
    share[cut] = (depth - above)[cut] / (within - above)[cut]
    return _Depths(above, within, share)


def _both_within(common: IntArray, shorter: IntArray, longer: IntArray) -> IntArray:
    """By depth, how many common documents have their last ranks within the bounds, which never fall."""
    since = np.maximum(np.searchsorted(shorter, common[:, 0]), np.searchsorted(longer, common[:, 1]))
    return np.cumsum(np.bincount(since, minlength=len(shorter) + 1)[: len(shorter)])


@lru_cache(maxsize=64)
def _powers(p: float, length: int) -> FloatArray:
    """p to the power of each depth from 1 to a length; kept, as most rankings of a task have one length."""
    powers: FloatArray = (p ** np.arange(1, length + 1)).astype(np.float64, copy=False)
    powers.flags.writeable = False
    return powers


@lru_cache(maxsize=1024)
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
