"""Relevance to subtopics down a ranking, and the ranking that covers them best."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from leaderboard.measures.judged import FloatArray, IntArray, Judged, Judgments, Subtopics, sums


class Covered(NamedTuple):
    """The hits relevant to subtopics, a row for each of a hit's subtopics, in rank order.

    topic, rank: (rows,); subtopic: (rows,) its place among the subtopics of all topics; grade: (rows,);
    hit: (rows,) index into the run's hits.
    """

    topic: IntArray
    rank: IntArray
    subtopic: IntArray
    grade: IntArray
    hit: IntArray


class Gained(NamedTuple):
    """The gain of each document of a ranking, given those above it, in rank order, each (documents,)."""

    topic: IntArray
    rank: IntArray
    gain: FloatArray


class Rows(NamedTuple):
    """The rows of Subtopics with a grade of at least some level.

    subtopic: (rows,) its place among the subtopics of all topics; grade: (rows,); bounds:
    (documents + 1,) where the rows of each judged document begin, and their end.
    """

    subtopic: IntArray
    grade: IntArray
    bounds: IntArray


def relevant_rows(judgments: Judgments, rel: int) -> Rows:
    """The judgments of subtopics with a grade of at least rel, by document, then subtopic."""
    subtopics = _subtopics(judgments)
    rows = judgments.keep(("subtopic rows", rel), lambda: np.flatnonzero(subtopics.grade >= rel))
    document = subtopics.document[rows]
    first = np.cumsum(subtopics.count) - subtopics.count
    subtopic = first[judgments.topic[document]] + subtopics.subtopic[rows]
    bounds = judgments.keep(
        ("subtopic bounds", rel), lambda: np.searchsorted(document, np.arange(len(judgments.grades) + 1))
    )
    return Rows(subtopic, subtopics.grade[rows], bounds)


def covered(judged: Judged, rel: int, cutoff: int | None = None) -> Covered:
    """Subtopics covered by the top cutoff ranks (None: all) with a grade of at least rel."""
    rows = relevant_rows(judged.judgments, rel)
    document = judged.document if cutoff is None else judged.document[judged.rank <= cutoff]
    hits = np.arange(len(judged.rank)) if cutoff is None else np.flatnonzero(judged.rank <= cutoff)
    size = rows.bounds[document + 1] - rows.bounds[document]
    hit = np.repeat(hits, size)
    row = np.arange(len(hit)) + np.repeat(rows.bounds[document] - (np.cumsum(size) - size), size)
    return Covered(judged.topic[hit], judged.rank[hit], rows.subtopic[row], rows.grade[row], hit)


def earlier(values: IntArray) -> IntArray:
    """For every value, how many equal ones come before it.

    >>> earlier(np.array([7, 5, 7, 7]))
    array([0, 0, 1, 2])
    """
    order = np.argsort(values, kind="stable")
    ranked = values[order]
    count = np.empty(len(values), dtype=np.int64)
    count[order] = np.arange(len(values)) - np.searchsorted(ranked, ranked)
    return count


def novelty(judged: Judged, rel: int, alpha: float, cutoff: int | None = None) -> Gained:
    """Every hit's subtopics, one that n hits above have worth (1 - alpha)^n, in the top cutoff ranks."""
    rows = covered(judged, rel, cutoff)
    seen = earlier(rows.subtopic)
    worth = decays(1.0 - alpha, int(seen.max(initial=0)) + 1)[seen]
    hits = np.unique(rows.hit)
    gain = sums(np.searchsorted(hits, rows.hit), worth, len(hits))
    return Gained(judged.topic[hits], judged.rank[hits], gain)


def ideal_novelty(judgments: Judgments, rel: int, alpha: float, cutoff: int | None = None) -> Gained:
    """The same of a ranking that has the worthiest document next at every rank, down to the cutoff.

    The best ranking itself is NP-hard to find; this one is what alpha-nDCG is divided by. Of several
    that are worth the same, the one with the greatest docno comes first.
    """
    documents = np.flatnonzero(np.diff(relevant_rows(judgments, rel).bounds))
    length = np.bincount(judgments.topic[documents], minlength=len(judgments))
    if cutoff is not None:
        length = np.minimum(length, cutoff)
    gain = judgments.keep(
        ("ideal novelty", rel, alpha, cutoff), lambda: _greedy(judgments, rel, alpha, cutoff)
    )
    topic = np.repeat(np.arange(len(judgments)), length)
    rank = np.arange(1, len(topic) + 1) - np.repeat(np.cumsum(length) - length, length)
    return Gained(topic, rank, gain)


def relevant_to(judgments: Judgments, rel: int) -> IntArray:
    """Number of documents relevant to each subtopic, (subtopics of all topics,)."""
    rows = relevant_rows(judgments, rel)
    return np.bincount(rows.subtopic, minlength=int(_subtopics(judgments).count.sum()))


def topic_of_subtopics(judgments: Judgments) -> IntArray:
    """The topic's index of each subtopic, (subtopics of all topics,)."""
    return np.repeat(np.arange(len(judgments)), _subtopics(judgments).count)


def answerable(judgments: Judgments, rel: int) -> IntArray:
    """Number of subtopics with a relevant document for each topic, (topics,)."""
    with_any = relevant_to(judgments, rel) > 0
    return np.bincount(topic_of_subtopics(judgments)[with_any], minlength=len(judgments))


def by_topic(judgments: Judgments, values: NDArray[np.generic]) -> FloatArray:
    """The sum of the values of each topic's subtopics, (topics,), added in their order."""
    return sums(topic_of_subtopics(judgments), values, len(judgments))


def decays(factor: float, length: int) -> FloatArray:
    """1, factor, factor², ..., by repeated multiplication as ndeval has them.

    >>> decays(0.5, 3)
    array([1.  , 0.5 , 0.25])
    """
    steps = np.full(length, factor)
    steps[:1] = 1.0
    table: FloatArray = np.multiply.accumulate(steps)
    return table


def _subtopics(judgments: Judgments) -> Subtopics:
    assert judgments.subtopics is not None, "a measure of subtopics is bound to judgments of them"
    return judgments.subtopics


def _greedy(judgments: Judgments, rel: int, alpha: float, cutoff: int | None) -> FloatArray:
    """The gains of the ideal rankings, one topic after the other.

    Computed rank by rank, all topics at once: what is best next depends on what was taken above.
    """
    rows = relevant_rows(judgments, rel)
    size = np.diff(rows.bounds)
    topic = judgments.topic[size > 0]
    document, subtopic = np.repeat(np.arange(len(topic)), size[size > 0]), rows.subtopic
    worth = np.ones(int(_subtopics(judgments).count.sum()))
    taken: list[tuple[IntArray, FloatArray]] = [(np.empty(0, np.int64), np.empty(0))]
    while len(topic) and len(taken) - 1 != cutoff:
        gain = sums(document, worth[subtopic], len(topic))
        best = _best(topic, gain)
        taken.append((topic[best], gain[best]))
        left = np.ones(len(topic), dtype=np.bool_)
        left[best] = False
        stays = left[document]
        worth[subtopic[~stays]] *= 1.0 - alpha
        document, subtopic = (np.cumsum(left) - 1)[document[stays]], subtopic[stays]
        topic = topic[left]
    topics, gains = (np.concatenate([pick[part] for pick in taken]) for part in range(2))
    in_order: FloatArray = gains[np.argsort(topics, kind="stable")]
    return in_order


def _best(topic: IntArray, gain: FloatArray) -> IntArray:
    """The last of each topic's documents with the greatest gain; docnos ascend within a topic."""
    begins = np.flatnonzero(np.diff(topic, prepend=-1))
    length = np.diff(begins, append=len(topic))
    ties = np.flatnonzero(gain == np.repeat(np.maximum.reduceat(gain, begins), length))
    last: IntArray = ties[np.diff(topic[ties], append=-1) != 0]
    return last
