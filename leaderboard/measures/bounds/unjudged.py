"""The positions of a run's unjudged documents: in the gaps between its judged hits."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from leaderboard.measures.judged import UNJUDGED, FloatArray, IntArray, Judged
from leaderboard.measures.running import bounds_of, running


@dataclass(frozen=True, eq=False)
class Gaps:
    """The judged hits of a run's top ranks, and with them all of its unjudged documents there.

    topic, rank, grade: (hits,) ascending by topic, then rank; starts: (topics + 1,) where each topic's
    hits begin, and their end; unjudged_above: (hits,) unjudged documents ranked above each; depth:
    (topics,) the number of ranks considered; unjudged: (topics,) how many of their documents are unjudged;
    outside: (topics,) unjudged documents of the run below these ranks, and pooled ones of grade -1 it
    did not retrieve.
    """

    topic: IntArray
    rank: IntArray
    grade: IntArray
    starts: IntArray
    unjudged_above: IntArray
    depth: IntArray
    unjudged: IntArray
    outside: IntArray

    def above(self, rank: IntArray) -> IntArray:
        """Number of judged hits at or above each topic's rank, (topics,)."""
        key = self.topic * self._span + self.rank
        place = np.searchsorted(key, np.arange(len(self.depth)) * self._span + rank, side="right")
        return place - self.starts[:-1]

    def rank_of(self, number: IntArray) -> IntArray:
        """The rank of each topic's unjudged document of that number, counted from 1 at the top, (topics,)."""
        key = self.topic * self._span + self.unjudged_above
        place = np.searchsorted(key, np.arange(len(self.depth)) * self._span + number, side="left")
        return number + place - self.starts[:-1]

    def total(self, values: FloatArray) -> "Prefix":
        """Sums of values, one for each hit, from the top of the ranking."""
        sums = running(np.add, self.starts, values)
        return Prefix(self.starts, np.concatenate(([0.0], sums)))

    @property
    def _span(self) -> int:
        return int(self.depth.max(initial=0)) + 2


@dataclass(frozen=True, eq=False)
class Prefix:
    """Sums over the first hits of each topic; starts as in Gaps, sums: (hits + 1,) from 0 on."""

    starts: IntArray
    sums: FloatArray

    def first(self, hits: IntArray) -> FloatArray:
        """The sum over the first hits of each topic, as many as hits says, (topics,)."""
        return np.where(hits > 0, self.sums[self.starts[:-1] + hits], 0.0)

    @property
    def whole(self) -> FloatArray:
        """The sum over all hits of each topic, (topics,)."""
        return self.first(np.diff(self.starts))

    def above(self, topic: IntArray) -> FloatArray:
        """The sum over the hits above each hit, (hits,)."""
        return np.where(np.arange(len(topic)) > self.starts[topic], self.sums[:-1], 0.0)


def gaps(judged: Judged, cutoff: int | None) -> Gaps:
    """Positions of the unjudged documents in a run's top cutoff ranks (None: all).

    Unjudged are documents that are not in the qrels and those of grade -1, pooled but not judged.
    """
    topics = len(judged.judgments)
    depth = judged.retrieved if cutoff is None else np.minimum(judged.retrieved, cutoff)
    is_judged = judged.grade != UNJUDGED
    kept = is_judged & (judged.rank <= depth[judged.topic])
    topic, rank = judged.topic[kept], judged.rank[kept]
    starts = bounds_of(topic, topics)
    nth = np.arange(1, len(topic) + 1) - starts[topic]
    unjudged = depth - np.diff(starts)
    everywhere = judged.retrieved - np.bincount(judged.topic[is_judged], minlength=topics)
    pooled = judged.judgments.count(judged.judgments.grades == UNJUDGED)
    retrieved = np.bincount(judged.topic[~is_judged], minlength=topics)
    outside = everywhere - unjudged + pooled - retrieved
    return Gaps(topic, rank, judged.grade[kept], starts, rank - nth, depth, unjudged, outside)


def first_rise(value: Callable[[IntArray], FloatArray], most: IntArray) -> IntArray:
    """The first number of 0 to most, (topics,), from which value no longer falls.

    value gives (topics,) for one number each, and must fall first and then rise, or do only one of both.
    """
    low, high = np.zeros_like(most), most
    while bool(np.any(low < high)):
        middle = (low + high) // 2
        rises = value(np.minimum(middle + 1, most)) >= value(middle)
        high = np.where(rises, np.minimum(middle, high), high)
        low = np.where(rises | (low == high), low, middle + 1)
    return low
