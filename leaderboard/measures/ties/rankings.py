"""A run with ties: the groups of tied documents, and their possible orders."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from leaderboard.measures.judged import FloatArray, IntArray, Judged, positions
from leaderboard.measures.running import bounds_of


@dataclass(frozen=True, eq=False)
class TieGroups:
    """Groups of two or more documents of one topic with the same score in a run.

    topic: (groups,) index into judgments.topics; first: (groups,) rank of the group's first document;
    size: (groups,) its number of documents; ascending by topic, then first.
    """

    topic: IntArray
    first: IntArray
    size: IntArray


class TieCounts(NamedTuple):
    """On how many topics a run has ties, how many documents are tied in all, and the largest tie."""

    topics: int
    documents: int
    largest: int


def tie_groups(topic: IntArray, score: NDArray[np.floating]) -> TieGroups:
    """The groups in rankings given as the topic and score of every document, both (documents,).

    Ascending by topic, best first in each. Equal means equal as the numbers given: round them to 32
    bits before, where that is how scores are compared.

    >>> tie_groups(np.array([0, 0, 0, 0, 3, 3]), np.array([5.0, 2.0, 2.0, 1.0, 1.0, 1.0]))
    TieGroups(topic=array([0, 3]), first=array([2, 1]), size=array([2, 2]))
    """
    changes = np.flatnonzero((topic[1:] != topic[:-1]) | (score[1:] != score[:-1])) + 1
    start = np.concatenate((np.zeros(min(1, len(topic)), np.int64), changes))
    size = np.diff(start, append=len(topic))
    start, size = start[size > 1], size[size > 1]
    ranks = positions(bounds_of(topic, int(topic.max(initial=-1)) + 1), topic)
    return TieGroups(topic[start].astype(np.int64), ranks[start], size)


@dataclass(frozen=True, eq=False)
class Tied:
    """The judged hits of a run, with its ties.

    first, size: (hits,) for every hit of judged the first rank of the documents it is tied with, itself
    included, and how many these are; a hit that is not tied has its own rank and 1.
    """

    judged: Judged
    groups: TieGroups
    first: IntArray
    size: IntArray

    @cached_property
    def condensed(self) -> "Tied":
        """The same without unjudged documents and those of negative grade, ranks closed up."""
        is_judged = self.judged.grade >= 0
        condensed = self.judged.condensed
        group = _group_of(condensed.topic, self.first[is_judged])
        start = np.flatnonzero(np.diff(group, prepend=-1))
        size = np.diff(start, append=len(group))
        first = condensed.rank[start]
        several = size > 1
        groups = TieGroups(condensed.topic[start][several], first[several], size[several])
        return Tied(condensed, groups, first[group], size[group])

    def best(self, value: NDArray[np.integer] | FloatArray | None = None) -> Judged:
        """The order with the most valuable documents of each group first, unjudged ones as those of value 0.

        value: (documents,) as judgments.grades, which are used if None.
        """
        return self._best_by_grade if value is None else self._ordered(1, value)

    def worst(self, value: NDArray[np.integer] | FloatArray | None = None) -> Judged:
        """The same with the least valuable first."""
        return self._worst_by_grade if value is None else self._ordered(-1, value)

    @cached_property
    def _best_by_grade(self) -> Judged:
        return self._ordered(1, self.judged.judgments.grades)

    @cached_property
    def _worst_by_grade(self) -> Judged:
        return self._ordered(-1, self.judged.judgments.grades)

    def drawn(self, number: int, seed: int) -> Iterator[Judged]:
        """This number of random orders; every order of a group is as likely as any other."""
        generator = np.random.Generator(np.random.PCG64(seed))
        hits = np.flatnonzero(self.size > 1)
        group = _group_of(self.judged.topic[hits], self.first[hits])
        start = np.flatnonzero(np.diff(group, prepend=-1))
        sizes, firsts = self.size[hits][start], self.first[hits][start]
        ends = np.cumsum(sizes)
        member = np.repeat(np.arange(len(sizes)), sizes)
        rank = firsts[member] + np.arange(len(member)) - (ends - sizes)[member]
        # The nth hit of a group takes the nth of its ranks, once these are shuffled.
        taken = (ends - sizes)[group] + np.arange(len(hits)) - start[group]
        for _ in range(number):
            shuffled = np.argsort(member + generator.random(len(member)), kind="stable")
            ranks = self.judged.rank.copy()
            ranks[hits] = rank[shuffled][taken]
            yield _with_ranks(self.judged, ranks)

    def _ordered(self, sign: int, value: NDArray[np.integer] | FloatArray) -> Judged:
        judged = self.judged
        worth = sign * value[judged.document]
        above = worth > 0
        group = _group_of(judged.topic, self.first)
        order = np.lexsort((judged.document, -worth, ~above, group))
        start = np.flatnonzero(np.diff(group, prepend=-1))
        nth = np.arange(len(order)) - start[group[order]]
        # Documents without value go to the end of their group, unjudged ones stay in between.
        room = self.size - np.bincount(group, minlength=len(start))[group]
        ranks = np.empty_like(judged.rank)
        ranks[order] = (self.first + np.where(above, 0, room))[order] + nth
        return _with_ranks(judged, ranks)


def tied(judged: Judged, groups: TieGroups) -> Tied:
    """A run together with the ties of its rankings, whose topics are those of its judgments."""
    span = int(max(judged.rank.max(initial=0), groups.first.max(initial=0))) + 1
    place = np.searchsorted(
        groups.topic * span + groups.first, judged.topic * span + judged.rank, side="right"
    )
    if not len(groups.topic):
        return Tied(judged, groups, judged.rank.copy(), np.ones_like(judged.rank))
    nearest = np.maximum(place - 1, 0)
    first, size = groups.first[nearest], groups.size[nearest]
    inside = (place > 0) & (groups.topic[nearest] == judged.topic) & (judged.rank < first + size)
    return Tied(judged, groups, np.where(inside, first, judged.rank), np.where(inside, size, 1))


def counts(ties: Tied, places: IntArray | None = None) -> TieCounts:
    """Counts of ties on the topics at these places of the judgments, on all topics if None.

    >>> from leaderboard.measures.richer_examples import judged
    >>> groups = tie_groups(np.zeros(5, np.int64), np.array([3.0, 2.0, 2.0, 1.0, 1.0]))
    >>> counts(tied(judged({1: 1}, retrieved=5), groups))
    TieCounts(topics=1, documents=4, largest=2)
    """
    groups = ties.groups
    chosen = np.ones(len(groups.topic), np.bool_) if places is None else np.isin(groups.topic, places)
    size = groups.size[chosen]
    return TieCounts(len(np.unique(groups.topic[chosen])), int(size.sum()), int(size.max(initial=0)))


def _group_of(topic: IntArray, first: IntArray) -> IntArray:
    """The number of each hit's group, from 0, for hits ascending by topic, then rank."""
    changes = np.ones(len(topic), np.bool_)
    changes[1:] = (topic[1:] != topic[:-1]) | (first[1:] != first[:-1])
    return np.cumsum(changes) - 1


def _with_ranks(judged: Judged, rank: IntArray) -> Judged:
    """The run with other ranks of its hits; known text of its first documents is left out."""
    order = np.lexsort((rank, judged.topic))
    return replace(
        judged,
        rank=rank[order],
        document=judged.document[order],
        topic=judged.topic[order],
        dissimilarity=None,
    )
