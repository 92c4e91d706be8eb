"""What every measure is computed from: the judgments of a revision and one run's judged hits."""

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from leaderboard.measures.discounts import log2_discounts

IntArray = NDArray[np.int64]
FloatArray = NDArray[np.float64]

UNJUDGED = -1
"""The grade of a document that was pooled but not judged."""


def ratio(numerator: NDArray[Any], divisor: NDArray[Any]) -> FloatArray:
    """The quotient of every topic, 0 where the divisor is 0.

    >>> ratio(np.array([1, 3]), np.array([2, 0]))
    array([0.5, 0. ])
    """
    zeros = np.zeros(len(divisor), dtype=np.float64)
    np.divide(numerator, divisor, out=zeros, where=divisor != 0)
    return zeros


def sums(topic: IntArray, values: NDArray[Any], topics: int) -> FloatArray:
    """The sum of values for each topic, (topics,), added one after the other in the order given.

    The order of additions decides the last bit; this one is trec_eval's.
    """
    return np.bincount(topic, weights=values, minlength=topics).astype(np.float64, copy=False)


def positions(starts: IntArray, topic: IntArray) -> IntArray:
    """The 1-based place of every element within its topic; starts is where each topic begins."""
    return np.arange(1, len(topic) + 1, dtype=np.int64) - starts[topic]


@dataclass(frozen=True, eq=False)
class Judgments:
    """The judgments of one qrels revision, without docnos.

    topics: ids in byte order; grades: (judgments,) every topic's grades in descending order, one
    topic after the other; starts: (topics + 1,) where each topic's grades begin, and their end.
    """

    topics: tuple[str, ...]
    grades: IntArray
    starts: IntArray
    _kept: dict[object, NDArray[Any]] = field(default_factory=dict, init=False, repr=False)

    def __len__(self) -> int:
        """The number of topics."""
        return len(self.topics)

    @cached_property
    def topic(self) -> IntArray:
        """The topic's index of every grade, (judgments,)."""
        return np.repeat(np.arange(len(self.topics), dtype=np.int64), np.diff(self.starts))

    def relevant(self, level: int) -> IntArray:
        """How many documents of each topic have a grade of at least level, (topics,)."""
        return self._keep(("relevant", level), lambda: self._count(self.grades >= level))

    def nonrelevant(self, level: int) -> IntArray:
        """How many documents of each topic have a grade from 0 up to below level, (topics,)."""
        return self._keep(
            ("nonrelevant", level), lambda: self._count((self.grades >= 0) & (self.grades < level))
        )

    def ideal_dcg(self, cutoff: int | None) -> FloatArray:
        """The largest discounted gain the top cutoff ranks (None: all) of each topic can have."""
        return self._keep(("ideal", cutoff), lambda: self._ideal(cutoff))

    def _count(self, wanted: NDArray[np.bool_]) -> IntArray:
        return np.bincount(self.topic[wanted], minlength=len(self))

    def _ideal(self, cutoff: int | None) -> FloatArray:
        rank = positions(self.starts, self.topic)
        wanted = self.grades > 0 if cutoff is None else (self.grades > 0) & (rank <= cutoff)
        topic, rank, gain = self.topic[wanted], rank[wanted], self.grades[wanted]
        return sums(topic, gain / log2_discounts(rank), len(self))

    def _keep(self, key: object, make: Callable[[], NDArray[Any]]) -> NDArray[Any]:
        # Many runs are scored under one revision: each count is made once.
        if key not in self._kept:
            self._kept[key] = make()
        return self._kept[key]


class Relevant(NamedTuple):
    """The relevant hits of a run in rank order: topic index, rank, and nth of its topic, each (hits,)."""

    topic: IntArray
    rank: IntArray
    nth: IntArray


@dataclass(frozen=True, eq=False)
class Judged:
    """One run as the judgments see it: only its documents that are in the qrels.

    topic, rank, grade: (hits,) index into judgments.topics, 1-based rank, and grade (negative ones
    too), ascending by topic, then rank. retrieved: (topics,) length of each ranking, 0 where the
    run misses the topic.
    """

    judgments: Judgments
    topic: IntArray
    rank: IntArray
    grade: IntArray
    retrieved: IntArray

    def relevant(self, level: int, cutoff: int | IntArray | None = None) -> Relevant:
        """The hits with a grade of at least level in the top cutoff ranks (None: all)."""
        wanted = self.grade >= level
        if cutoff is not None:
            wanted &= self.rank <= (cutoff if isinstance(cutoff, int) else cutoff[self.topic])
        topic = self.topic[wanted]
        starts = np.searchsorted(topic, np.arange(len(self.judgments)))
        return Relevant(topic, self.rank[wanted], positions(starts, topic))

    def relevant_count(self, level: int, cutoff: int | IntArray | None = None) -> IntArray:
        """How many relevant documents each ranking has in its top cutoff ranks, (topics,)."""
        return np.bincount(self.relevant(level, cutoff).topic, minlength=len(self.judgments))

    def totals(self, topic: IntArray, values: NDArray[Any]) -> FloatArray:
        """The sum of values for each topic, (topics,), added in the order given."""
        return sums(topic, values, len(self.judgments))
