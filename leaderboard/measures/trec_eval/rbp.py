"""Rank-biased precision and its residual as trec_eval 10 computes them."""

import math
from dataclasses import replace
from functools import lru_cache

import numpy as np

from leaderboard.measures.judged import FloatArray, IntArray, Judged, Judgments, sums
from leaderboard.measures.rank_biased import PERSISTENCE
from leaderboard.measures.record import JUDGED_ONLY, Measure, TrecName

_BLOCK = 64
"""Topics whose ranks are laid out at a time: few enough to stay small, enough to be quick."""


def rank_biased_of_topic_scale(judged: Judged, *, p: float = 0.9) -> FloatArray:
    """Rank-biased precision, grades divided by the topic's highest, float64 (topics,), 0 to 1.

    Grade 1 is a gain of 1 in a topic whose highest grade is 1 and of 1/2 in one that has a grade 2.
    Source: trec_eval 10 `rbp`, after Moffat and Zobel 2008.

    Grade 1 at rank 1, grade 2 at rank 2: 1/2 · (1/2 + 1 · 1/2).

    >>> from leaderboard.measures.richer_examples import judged
    >>> rank_biased_of_topic_scale(judged({1: 1, 2: 2}), p=0.5)
    array([0.5])
    """
    judgments = judged.judgments
    highest = judgments.keep("highest grade", lambda: _highest(judgments))
    gaining = judged.grade > 0
    topic = judged.topic[gaining]
    gain = judged.grade[gaining] / highest[topic]
    return (1.0 - p) * judged.totals(topic, gain * _weights(p, judged.rank[gaining] - 1))


def rank_biased_residual(judged: Judged, *, p: float = 0.9) -> FloatArray:
    """Residual of rank-biased precision: its possible rise if unjudged hits were relevant, float64 (topics,).

    From 0 to 1: the weight of the retrieved documents that are not judged or of a negative grade, and of all
    ranks below the last one. 0 where all retrieved documents are judged, although lower ranks are unknown.
    Source: trec_eval 10 `rbp_resid`, after Moffat and Zobel 2008.

    Judged documents at ranks 1 and 3 of three: the weights of rank 2 and of all below 3, 1/4 + 1/8.

    >>> from leaderboard.measures.richer_examples import judged
    >>> rank_biased_residual(judged({1: 1, 3: 0}), p=0.5)
    array([0.375])
    """
    is_judged = judged.grade >= 0
    topic, rank = judged.topic[is_judged], judged.rank[is_judged]
    count = np.bincount(topic, minlength=len(judged.judgments))
    total = _unjudged_weight(topic, rank, judged.retrieved, p)
    scores = _weights(p, judged.retrieved) + (1.0 - p) * total
    scores[judged.retrieved == count] = 0.0
    return scores


def _unjudged_weight(topic: IntArray, rank: IntArray, retrieved: IntArray, p: float) -> FloatArray:
    """The sum of the weights of the ranks up to retrieved without a hit, (topics,), in rank order.

    A weight below 2^-55 of the first one added no longer changes any sum, so long rankings are read
    only as deep as they matter. Block by block, since all ranks of all topics are many.
    """
    starts = np.searchsorted(topic, np.arange(len(retrieved) + 1))
    nth = np.arange(1, len(topic) + 1) - starts[topic]
    first = np.bincount(topic[nth == rank], minlength=len(retrieved))
    length = np.minimum(retrieved - first, math.ceil(55 * math.log(2) / -math.log(p)))
    total = np.zeros(len(retrieved))
    for start in range(0, len(retrieved), _BLOCK):
        block = slice(start, start + _BLOCK)
        hits = slice(starts[start], starts[min(start + _BLOCK, len(retrieved))])
        place = rank[hits] - first[topic[hits]]
        total[block] = _block_weight(topic[hits] - start, place, first[block], length[block], p)
    return total


def _block_weight(
    topic: IntArray, place: IntArray, first: IntArray, length: IntArray, p: float
) -> FloatArray:
    """The same for a few topics, of length ranks each below the top first, hits at 1-based places there."""
    begins = np.cumsum(length) - length
    of = np.repeat(np.arange(len(length)), length)
    weight = _weights(p, np.arange(len(of)) - begins[of] + first[of])
    seen = (place >= 1) & (place <= length[topic])
    weight[begins[topic[seen]] + place[seen] - 1] = 0.0
    return sums(of, weight, len(length))


def _highest(judgments: Judgments) -> IntArray:
    """The highest grade of every topic, at least 1, (topics,)."""
    highest = np.ones(len(judgments), dtype=np.int64)
    np.maximum.at(highest, judgments.topic, judgments.grades)
    return highest


def _weights(p: float, exponent: IntArray) -> FloatArray:
    return _table(p, int(exponent.max(initial=0)).bit_length())[exponent]


@lru_cache(maxsize=32)
def _table(p: float, bits: int) -> FloatArray:
    """1, p, p · p, ... by one multiplication after the other, as trec_eval has them: not p ** n."""
    table = np.full(1 << bits, p)
    table[0] = 1.0
    np.multiply.accumulate(table, out=table)
    table.flags.writeable = False
    return table


_P = replace(PERSISTENCE, default=0.9)
_CITATION = (
    "Moffat and Zobel, Rank-Biased Precision for Measurement of Retrieval Effectiveness, TOIS 27(1), 2008"
)

RBP_TREC = Measure(
    name="RBPtrec",
    title="Rank-biased precision on each topic's own scale of grades",
    formula="(1 − p) · Σ over ranks i of p^(i − 1) · grade / max(1, highest grade of the topic)",
    citation=_CITATION,
    compute=rank_biased_of_topic_scale,
    parameters=(_P, JUDGED_ONLY),
    trec_names=(TrecName("rbp"),),
    needs=frozenset({"graded"}),
    note=(
        "What trec_eval 10 prints as rbp. The same document weighs differently in topics with other highest "
        "grades; RBP and gRBP do not do that."
    ),
)

RBP_TREC_RESIDUAL = Measure(
    name="RBPtrecResid",
    title="Residual of rank-biased precision as trec_eval 10 has it",
    formula="(1 − p) · Σ over unjudged ranks i ≤ n of p^(i − 1) + p^n, 0 if no rank is unjudged",
    citation=_CITATION,
    compute=rank_biased_residual,
    parameters=(_P,),
    trec_names=(TrecName("rbp_resid"),),
    direction="none",
    note=(
        "What trec_eval 10 prints as rbp_resid: every negative grade is unjudged, and a ranking all of whose "
        "documents are judged has none. RBPResid always counts what is below the ranking."
    ),
)
