"""The input of every measure: the judgments of a revision and one run's judged hits."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cache, cached_property
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray


def log2_discounts(rank: NDArray[np.int64]) -> NDArray[np.float64]:
    """log2(rank + 1) of every rank, in the shape of rank.

    Not np.log2: its result differs in the last bit between processors.

    >>> log2_discounts(np.array([1, 3]))
    array([1., 2.])
    """
    highest = int(rank.max(initial=0))
    return _table(highest.bit_length())[rank]


@cache
def _table(bits: int) -> NDArray[np.float64]:
    table = np.array([math.log2(rank + 1) for rank in range(1 << bits)])
    table.flags.writeable = False
    return table


IntArray = NDArray[np.int64]
FloatArray = NDArray[np.float64]
Kept = TypeVar("Kept")

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
class Subtopics:
    """Relevance of judged documents to subtopics.

    document: (rows,) index into Judgments.grades; subtopic: (rows,) 0-based within its topic; grade:
    (rows,); ascending by document, then subtopic. count: (topics,) subtopics a topic has judgments of.
    """

    document: IntArray
    subtopic: IntArray
    grade: IntArray
    count: IntArray


@dataclass(frozen=True, eq=False)
class Preferences:
    """Pairs of judged documents of one topic of which the first was preferred.

    better, worse: (pairs,) indices into Judgments.grades, ascending by topic; weight: (pairs,) how
    often or how strongly. judge: (pairs,) 0-based within the topic; judges: (topics,) how many a topic
    has, also those who preferred no document to another.
    """

    better: IntArray
    worse: IntArray
    weight: FloatArray
    judge: IntArray
    judges: IntArray


@dataclass(frozen=True, eq=False)
class Judgments:
    """The judgments of one qrels revision, without docnos.

    topics: ids in byte order; grades: (documents,) the grade of every judged document, one topic
    after the other; starts: (topics + 1,) where each topic's documents begin, and their end.
    The other inputs are None where the revision or the caller has none of them. distractors: (topics,)
    how many documents known not to be relevant to any topic each topic has in addition; the first document
    of every topic, of grade 0, then represents all of them, and a run may have it at several ranks.
    """

    topics: tuple[str, ...]
    grades: IntArray
    starts: IntArray
    subtopics: Subtopics | None = None
    preferences: Preferences | None = None
    collection_size: int | None = None
    distractors: IntArray | None = None
    _kept: dict[object, Any] = field(default_factory=dict, init=False, repr=False)

    def __len__(self) -> int:
        """The number of topics."""
        return len(self.topics)

    @cached_property
    def topic(self) -> IntArray:
        """The topic's index of every judged document, (documents,)."""
        return np.repeat(np.arange(len(self.topics), dtype=np.int64), np.diff(self.starts))

    @cached_property
    def descending(self) -> IntArray:
        """The grades of every topic in descending order, one topic after the other, (documents,)."""
        return self.grades[np.lexsort((-self.grades, self.topic))]

    def relevant(self, level: int) -> IntArray:
        """Number of documents with a grade of at least level for each topic, (topics,)."""
        return self.keep(("relevant", level), lambda: self.count(self.grades >= level))

    def nonrelevant(self, level: int) -> IntArray:
        """Number of documents with a grade from 0 up to below level for each topic, (topics,)."""
        return self.keep(
            ("nonrelevant", level), lambda: self.count((self.grades >= 0) & (self.grades < level))
        )

    def ideal_dcg(self, cutoff: int | None) -> FloatArray:
        """The largest discounted gain the top cutoff ranks (None: all) of each topic can have."""
        return self.keep(("ideal", cutoff), lambda: self._ideal(cutoff))

    def count(self, mask: NDArray[np.bool_]) -> IntArray:
        """Number of documents of each topic for which mask, (documents,), is true, (topics,)."""
        counted = np.bincount(self.topic[mask], minlength=len(self))
        if self.distractors is not None:
            counted += np.where(mask[self.starts[:-1]], self.distractors - 1, 0)
        return counted

    def repeated(self, documents: IntArray) -> IntArray:
        """The documents, each as often as it occurs, distractors several times."""
        if self.distractors is None:
            return documents
        times = np.ones(len(self.grades), dtype=np.int64)
        times[self.starts[:-1]] = self.distractors
        return np.repeat(documents, times[documents])

    @cached_property
    def named(self) -> NDArray[np.bool_]:
        """Mask of the documents that have a docno, (documents,): all but those that represent distractors."""
        has_docno = np.ones(len(self.grades), dtype=np.bool_)
        if self.distractors is not None:
            has_docno[self.starts[:-1]] = False
        return has_docno

    def listed(self, place: int) -> tuple[int, int]:
        """Start and end of the documents with a docno, for the topic at a place."""
        start, end = self.starts[place : place + 2].tolist()
        return start + (self.distractors is not None), end

    def keep(self, key: object, make: Callable[[], NDArray[Any]]) -> NDArray[Any]:
        """The result of make, cached by key, because many runs are scored under one revision."""
        if key not in self._kept:
            self._kept[key] = make()
        kept: NDArray[Any] = self._kept[key]
        return kept

    def times(self, number: int) -> "Judgments":
        """The same topics and documents that many times in a row, grades alone; the last of these is kept."""
        last: Judgments | None = self._kept.get("times")
        if last is None or len(last) != number * len(self):
            starts = np.append(0, np.arange(number)[:, None] * len(self.grades) + self.starts[1:])
            topics, grades = self.topics * number, np.tile(self.grades, number)
            size = self.collection_size
            last = self._kept["times"] = Judgments(topics, grades, starts, collection_size=size)
        return last

    def _ideal(self, cutoff: int | None) -> FloatArray:
        rank = positions(self.starts, self.topic)
        counted = self.descending > 0 if cutoff is None else (self.descending > 0) & (rank <= cutoff)
        topic, rank, gain = self.topic[counted], rank[counted], self.descending[counted]
        return sums(topic, gain / log2_discounts(rank), len(self))


class Relevant(NamedTuple):
    """The relevant hits of a run in rank order: topic index, rank, and nth of its topic, each (hits,)."""

    topic: IntArray
    rank: IntArray
    nth: IntArray


@dataclass(frozen=True, eq=False)
class Judged:
    """The judged hits of one run: only its documents that are in the qrels.

    topic, rank, document: (hits,) index into judgments.topics, 1-based rank, and index into
    judgments.grades, ascending by topic, then rank; negative grades are hits too. retrieved: (topics,)
    length of each ranking, 0 where the run misses the topic. dialect: whose reading of a definition,
    trec_eval 9's or 10's, where they differ. dissimilarity: for every topic the (n, n) dissimilarities
    of its top n documents in rank order, where the caller knows them.
    """

    judgments: Judgments
    topic: IntArray
    rank: IntArray
    document: IntArray
    retrieved: IntArray
    dialect: int = 10
    dissimilarity: tuple[FloatArray, ...] | None = None
    _kept: dict[object, Any] = field(default_factory=dict, init=False, repr=False)

    @cached_property
    def grade(self) -> IntArray:
        """The grade of every hit, (hits,)."""
        return self.judgments.grades[self.document]

    @cached_property
    def starts(self) -> IntArray:
        """Index of each topic's first hit, (topics,)."""
        return np.searchsorted(self.topic, np.arange(len(self.judgments)))

    def relevant(self, level: int, cutoff: int | IntArray | None = None) -> Relevant:
        """The hits with a grade of at least level in the top cutoff ranks (None: all)."""
        if cutoff is None or isinstance(cutoff, int):
            return self.keep(("relevant", level, cutoff), lambda: self._relevant(level, cutoff))
        return self._relevant(level, cutoff)

    def relevant_count(self, level: int, cutoff: int | IntArray | None = None) -> IntArray:
        """Number of relevant documents in the top cutoff ranks of each ranking, (topics,)."""
        if cutoff is None or isinstance(cutoff, int):
            return self.keep(("count", level, cutoff), lambda: self._count(level, cutoff))
        return self._count(level, cutoff)

    def keep(self, key: object, make: Callable[[], Kept]) -> Kept:
        """The result of make, cached by key, because measures of one run share their parts."""
        if key not in self._kept:
            self._kept[key] = make()
        kept: Kept = self._kept[key]
        return kept

    def totals(self, topic: IntArray, values: NDArray[Any]) -> FloatArray:
        """The sum of values for each topic, (topics,), added in the order given."""
        return sums(topic, values, len(self.judgments))

    def above(self, mask: NDArray[np.bool_], hits: IntArray) -> IntArray:
        """For these hits, how many hits of the same topic ranked above are wanted, (hits,)."""
        before = np.concatenate(([0], np.cumsum(mask, dtype=np.int64)))
        return before[hits] - before[self.starts[self.topic[hits]]]

    @cached_property
    def condensed(self) -> "Judged":
        """The run without its unjudged documents and those of negative grade, ranks closed up.

        Source: Sakai 2007, condensed lists; trec_eval -J.
        """
        is_judged = self.grade >= 0
        topic, document = self.topic[is_judged], self.document[is_judged]
        starts = np.searchsorted(topic, np.arange(len(self.judgments)))
        retrieved = np.bincount(topic, minlength=len(self.judgments))
        rank = positions(starts, topic)
        return Judged(self.judgments, topic, rank, document, retrieved, self.dialect)

    def _count(self, level: int, cutoff: int | IntArray | None) -> IntArray:
        hits = self.relevant(level)
        topic = hits.topic
        if cutoff is not None:
            topic = topic[hits.rank <= (cutoff if isinstance(cutoff, int) else cutoff[topic])]
        return np.bincount(topic, minlength=len(self.judgments))

    def _relevant(self, level: int, cutoff: int | IntArray | None) -> Relevant:
        counted = self.grade >= level
        if cutoff is not None:
            counted &= self.rank <= (cutoff if isinstance(cutoff, int) else cutoff[self.topic])
        # Few of the judged are relevant: their places are faster than a mask.
        hits = np.flatnonzero(counted)
        topic = self.topic[hits]
        starts = np.searchsorted(topic, np.arange(len(self.judgments)))
        return Relevant(topic, self.rank[hits], positions(starts, topic))


def in_a_row(runs: Sequence[Judged]) -> Judged:
    """Runs under the same judgments as one run over as many times the topics.

    A measure scores each topic alone, so its scores are those of the runs, one run after the other. Only for
    judgments that are grades and nothing else.
    """
    judgments, number = runs[0].judgments, len(runs)
    if number == 1:
        return runs[0]
    topics, documents = len(judgments), len(judgments.grades)
    return Judged(
        judgments.times(number),
        np.concatenate([run.topic + place * topics for place, run in enumerate(runs)]),
        np.concatenate([run.rank for run in runs]),
        np.concatenate([run.document + place * documents for place, run in enumerate(runs)]),
        np.concatenate([run.retrieved for run in runs]),
        runs[0].dialect,
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
