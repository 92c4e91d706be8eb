"""Average precision if the relevant documents a run missed were further down its ranking."""

import numpy as np

from leaderboard.measures.judged import FloatArray, IntArray, Judged, positions, ratio
from leaderboard.measures.record import REL, Measure


def ap_missed_next(judged: Judged, *, rel: int = 1) -> FloatArray:
    """Average precision if all relevant documents not retrieved came right below the ranking, (topics,).

    float64, from 0 to 1; the largest possible for any continuation of the ranking.
    0 where a topic has no relevant document.

    One relevant document at rank 1 of 3, one missed, so at rank 4: (1 + 2/4) / 2.

    >>> from leaderboard.measures.richer_examples import judged
    >>> ap_missed_next(judged({1: 1}, missed=[1], retrieved=3))
    array([0.75])
    """
    return _with_missed(judged, rel, judged.retrieved)


def ap_missed_last(judged: Judged, *, rel: int = 1) -> FloatArray:
    """Average precision if all relevant documents not retrieved came last in the collection, (topics,).

    float64, from 0 to 1; the smallest it can be if the ranking went on to the end of the collection.
    0 where a topic has no relevant document.

    One relevant document at rank 1, one missed, so at rank 10 of 10: (1 + 2/10) / 2.

    >>> from leaderboard.measures.richer_examples import judged
    >>> ap_missed_last(judged({1: 1}, missed=[1], retrieved=3, collection_size=10))
    array([0.6])
    """
    missed = judged.judgments.relevant(rel) - judged.relevant_count(rel)
    last = (judged.judgments.collection_size or 0) - missed
    return _with_missed(judged, rel, np.maximum(last, judged.retrieved))


def _with_missed(judged: Judged, rel: int, above: IntArray) -> FloatArray:
    """Average precision with the missed relevant documents on the ranks right below `above`, (topics,)."""
    hits = judged.relevant(rel)
    relevant = judged.judgments.relevant(rel)
    hit_count = judged.relevant_count(rel)
    missed = relevant - hit_count
    topic = np.repeat(np.arange(len(missed)), missed)
    nth = positions(np.cumsum(missed) - missed, topic)
    precision = np.concatenate((hits.nth / hits.rank, (hit_count[topic] + nth) / (above[topic] + nth)))
    return ratio(judged.totals(np.concatenate((hits.topic, topic)), precision), relevant)


_TEXT = "Manning, Raghavan and Schütze, Introduction to Information Retrieval, 2008, exercise 8.9"

AP_NEXT = Measure(
    name="APnext",
    title="Average precision if missed relevant documents came next",
    formula="AP of the ranking followed by the relevant documents it misses",
    citation=_TEXT,
    compute=ap_missed_next,
    parameters=(REL,),
    direction="none",
    note="The relevant documents are those in the judgments; only the ranks of the missed ones are unknown.",
)

AP_LAST = Measure(
    name="APlast",
    title="Average precision if missed relevant documents came last",
    formula="AP of a ranking of the collection that begins as the run does and ends with what it misses",
    citation=_TEXT,
    compute=ap_missed_last,
    parameters=(REL,),
    direction="none",
    needs=frozenset({"collection size"}),
    note="The relevant documents are those in the judgments; only the ranks of the missed ones are unknown.",
)
