"""A run's rankings against a revision's judgments: who is at which rank with which grade."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np

from leaderboard.measures.judged import FloatArray, IntArray, Judged, Judgments
from leaderboard.trec.runs import Ranking

DIALECTS = (9, 10)
"""Whose order of a ranking: trec_eval 9 compares scores as 32-bit floats, trec_eval 10 as doubles."""


@dataclass(frozen=True, eq=False)
class CompiledJudgments:
    """A revision's judgments ready to be aligned with any number of runs.

    index: topic -> its place in judgments.topics; documents: docno -> index into judgments.grades, of
    every topic in that order.
    """

    judgments: Judgments
    index: Mapping[str, int]
    documents: tuple[Mapping[bytes, int], ...]


def compile_judgments(by_topic: Mapping[str, Mapping[bytes, int]]) -> CompiledJudgments:
    """The judgments (topic -> docno -> grade) with their topics in byte order.

    Topics without a judgment are left out: no run is scored on them.

    >>> compile_judgments({"9": {b"a": 1}, "10": {b"b": 0, b"c": 2}, "x": {}}).judgments.topics
    ('10', '9')
    """
    topics = tuple(sorted((topic for topic in by_topic if by_topic[topic]), key=_bytes))
    starts = np.cumsum([0, *(len(by_topic[topic]) for topic in topics)], dtype=np.int64)
    grades = np.array([grade for topic in topics for grade in by_topic[topic].values()], np.int64)
    documents = tuple(
        dict(zip(by_topic[topic], range(start, start + len(by_topic[topic])), strict=True))
        for topic, start in zip(topics, starts.tolist(), strict=False)
    )
    judgments = Judgments(topics, grades, starts)
    return CompiledJudgments(judgments, {topic: place for place, topic in enumerate(topics)}, documents)


def order(ranking: Ranking, dialect: int) -> IntArray:
    """The places of a ranking's documents by score descending, then docno descending as bytes.

    (documents,) indices into ranking.docnos, best first. The order of the file and its rank column
    play no part; equal means equal in the precision of the dialect, 9 or 10.
    """
    scores = _compared(ranking.scores, dialect)
    if bool(np.all(scores[1:] < scores[:-1])):
        return np.arange(len(scores), dtype=np.int64)
    return np.lexsort((ranking.docnos, scores))[::-1].astype(np.int64, copy=False)


def order_differs(ranking: Ranking) -> bool:
    """Whether trec_eval 9 and trec_eval 10 put the ranking's documents in different orders."""
    return not np.array_equal(order(ranking, 9), order(ranking, 10))


def align(
    rankings: Iterable[Ranking],
    compiled: CompiledJudgments,
    *,
    dialect: int,
    depth: int | None = None,
) -> Judged:
    """A run reduced to its judged hits, from rankings in any order of topics.

    Topics without judgments are passed over; depth keeps the best so many documents of each
    ranking (None: all). Holds one ranking at a time and the hits. Raises ValueError where a topic
    comes twice: a reader must have joined its parts.
    """
    retrieved = np.zeros(len(compiled.judgments), dtype=np.int64)
    hits: dict[int, tuple[IntArray, IntArray]] = {}
    for ranking in rankings:
        place = compiled.index.get(ranking.topic)
        if place is None:
            continue
        if place in hits:
            raise ValueError(f"topic {ranking.topic!r} comes twice")
        length = len(ranking.scores)
        retrieved[place] = length if depth is None else min(length, depth)
        hits[place] = _hits(ranking, compiled.documents[place], dialect, depth)
    return _judged(compiled.judgments, hits, retrieved, dialect)


def _hits(
    ranking: Ranking, documents: Mapping[bytes, int], dialect: int, depth: int | None
) -> tuple[IntArray, IntArray]:
    """Ranks, ascending, of the ranking's documents that are in the qrels, and their indices there."""
    found = [
        (place, document)
        for place, docno in enumerate(ranking.docnos.tolist())
        if (document := documents.get(docno)) is not None
    ]
    if not found:
        return np.empty(0, np.int64), np.empty(0, np.int64)
    rank = np.empty(len(ranking.scores), dtype=np.int64)
    rank[order(ranking, dialect)] = np.arange(1, len(rank) + 1)
    place, document = np.array(found, dtype=np.int64).T
    best_first = np.argsort(rank[place])
    rank, document = rank[place][best_first], document[best_first]
    kept = len(rank) if depth is None else int(np.searchsorted(rank, depth, side="right"))
    return rank[:kept], document[:kept]


def _judged(
    judgments: Judgments,
    hits: Mapping[int, tuple[IntArray, IntArray]],
    retrieved: IntArray,
    dialect: int,
) -> Judged:
    places = sorted(hits)
    none = np.empty(0, np.int64)
    topic = np.repeat(np.array(places, dtype=np.int64), [len(hits[place][0]) for place in places])
    rank = np.concatenate([none, *(hits[place][0] for place in places)])
    document = np.concatenate([none, *(hits[place][1] for place in places)])
    return Judged(judgments, topic, rank, document, retrieved, dialect)


def _compared(scores: FloatArray, dialect: int) -> np.ndarray[tuple[int], np.dtype[np.floating]]:
    if dialect not in DIALECTS:
        raise ValueError(f"no dialect {dialect}: trec_eval 9 and 10 are known")
    if dialect == 10:
        return scores
    with np.errstate(over="ignore"):  # beyond 32 bits a score is infinite, as in C
        return scores.astype(np.float32)


def _bytes(topic: str) -> bytes:
    return topic.encode("utf-8", "surrogateescape")
