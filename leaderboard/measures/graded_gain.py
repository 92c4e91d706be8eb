"""trec_eval's experimental measures of gain: G, and nDCG averaged over points of the ranking."""

import math
from typing import NamedTuple

import numpy as np

from leaderboard.measures.judged import (
    FloatArray,
    IntArray,
    Judged,
    Judgments,
    log2_discounts,
    positions,
    ratio,
)
from leaderboard.measures.record import (
    GAINS,
    JUDGED_ONLY,
    LARGEST,
    REL,
    Gains,
    Measure,
    Parameter,
    TrecName,
    document_gains,
    ideal_order,
)
from leaderboard.measures.running import bounds_of, last, running

MIN_REL = Parameter("min_rel", "integer", "The grade with gain 0; lower grades also gain 0.", 0, LARGEST, 0)
MAX_REL = Parameter(
    "max_rel", "integer", "The grade with gain 1; higher grades also gain 1.", 1, LARGEST, required=True
)


class ScaledGains(NamedTuple):
    """The hits of a run with a gain above 0, in rank order.

    topic, rank: (hits,); steps: (hits,) whole steps of the scale the grade is above min_rel;
    gain: (hits,) steps / scale; starts: (topics + 1,) where each topic's hits begin, and their end.
    """

    topic: IntArray
    rank: IntArray
    steps: IntArray
    gain: FloatArray
    starts: IntArray
    scale: int


def scaled_gains(judged: Judged, min_rel: int, max_rel: int, cutoff: int | None = None) -> ScaledGains:
    """The gains of a run's top cutoff ranks (None: all): (grade - min_rel) / (max_rel - min_rel)."""
    gaining = judged.grade > min_rel
    if cutoff is not None:
        gaining &= judged.rank <= cutoff
    topic, rank = judged.topic[gaining], judged.rank[gaining]
    scale = max_rel - min_rel
    steps = np.minimum(judged.grade[gaining] - min_rel, scale)
    return ScaledGains(topic, rank, steps, steps / scale, bounds_of(topic, len(judged.judgments)), scale)


_CITATION = "Buckley, trec_eval (experimental measures), 2008"
_NOTE = (
    "Gains are given as gains={1:1,2:3.5}; trec_eval can misplace gains less than 1 apart in its ideal "
    "ranking, which is not followed."
)


def gain_over_cost(judged: Judged, *, gains: Gains | None = None) -> FloatArray:
    """Gain discounted by how far the ranking is behind the ideal one, float64 (topics,), 0 to 1.

    A document's gain is divided by log2(2 + ideal gain so far - own gain so far), both with this
    rank's, each rank of the ideal counting at least 1; over the sum of all gains. 0 where no document
    has a gain above 0. Source: trec_eval `G`.

    Grade 1 at rank 1, grade 2 at rank 3: (1 / log2(2 + 2 - 1) + 2 / log2(2 + 4 - 3)) / 3.

    >>> from leaderboard.measures.richer_examples import judged
    >>> gain_over_cost(judged({1: 1, 3: 2}))
    array([0.63092975])
    """
    hits, ideal = _gained(judged, gains), _ideal(judged.judgments, gains)
    cost = running(np.add, ideal.starts, np.maximum(ideal.gain, 1.0))
    place, beyond = ideal.place(hits.topic, hits.rank)
    behind = 2.0 + (cost[place] + beyond) - running(np.add, hits.starts, hits.gain)
    # math.log2 and not np.log2: the same bits on every processor.
    discount = np.array([math.log2(value) for value in behind.tolist()], dtype=np.float64)
    best = np.bincount(ideal.topic, weights=ideal.gain, minlength=len(judged.judgments))
    return ratio(judged.totals(hits.topic, hits.gain / discount), best)


def binary_gain(judged: Judged, *, rel: int = 1) -> FloatArray:
    """Relevant documents discounted by the others ranked above them, float64 (topics,), 0 to 1.

    0 where a topic has no relevant document. Source: trec_eval `binG`.

    Relevant documents at ranks 1 and 4, two others between, one not retrieved: (1 + 1/log2(4)) / 3.

    >>> from leaderboard.measures.richer_examples import judged
    >>> binary_gain(judged({1: 1, 4: 1}, missed=[1]))
    array([0.5])
    """
    hits = judged.relevant(rel)
    gains = 1.0 / log2_discounts(hits.rank - hits.nth + 1)
    return ratio(judged.totals(hits.topic, gains), judged.judgments.relevant(rel))


def ndcg_at_relevant(judged: Judged, *, gains: Gains | None = None) -> FloatArray:
    """nDCG at the rank of every document with a gain, averaged over them, float64 (topics,), 0 to 1.

    One that was not retrieved counts with the nDCG of the whole ranking. 0 where no document has a
    gain above 0. Source: trec_eval `ndcg_rel`.

    Grade 1 at rank 1 of two documents of grade 1: 1 for the first, 1 / (1 + 1/log2(3)) for the other.

    >>> from leaderboard.measures.richer_examples import judged
    >>> ndcg_at_relevant(judged({1: 1}, missed=[1]))
    array([0.8065736])
    """
    hits, ideal = _gained(judged, gains), _ideal(judged.judgments, gains)
    dcg = running(np.add, hits.starts, hits.gain / log2_discounts(hits.rank))
    best = running(np.add, ideal.starts, ideal.gain / log2_discounts(ideal.rank))
    place, _ = ideal.place(hits.topic, hits.rank)
    count = np.diff(ideal.starts)
    missed = (count - np.diff(hits.starts)) * last(hits.starts, dcg, 0.0)
    total = judged.totals(hits.topic, dcg / best[place]) + ratio(missed, last(ideal.starts, best, 0.0))
    return ratio(total, count)


def ndcg_at_levels(judged: Judged, *, rel: int = 1, gains: Gains | None = None) -> FloatArray:
    """nDCG where the gain of the ideal ranking changes, averaged, float64 (topics,), 0 to 1.

    The ranks are those of the last document of every gain above 0 in the ideal ranking and, where the
    run is longer than the last of these by more than one document, its last. 0 where a topic has no
    document of at least grade rel. Source: trec_eval `Rndcg`.

    Grades 2 and 1, at ranks 3 and 1: 1/2 at rank 1 and 1 / (2 + 1/log2(3)) at rank 2.

    >>> from leaderboard.measures.richer_examples import judged
    >>> ndcg_at_levels(judged({1: 1, 3: 2}))
    array([0.44004688])
    """
    hits, ideal = _gained(judged, gains), _ideal(judged.judgments, gains)
    dcg = running(np.add, hits.starts, hits.gain / log2_discounts(hits.rank))
    best = running(np.add, ideal.starts, ideal.gain / log2_discounts(ideal.rank))
    change = ideal.changes()
    topic = ideal.topic[change]
    gained = _sum_at(hits, dcg, topic, ideal.rank[change])
    total = judged.totals(topic, gained / best[change])
    count = np.bincount(topic, minlength=len(total))
    longer = (judged.retrieved > np.diff(ideal.starts) + 1) & (count > 0)
    final = ratio(last(hits.starts, dcg, 0.0), last(ideal.starts, best, 0.0))
    scores = ratio(total + np.where(longer, final, 0.0), count + longer)
    scores[judged.judgments.relevant(rel) == 0] = 0.0
    return scores


def q_measure(judged: Judged, *, beta: float = 1.0, gains: Gains | None = None) -> FloatArray:
    """Average of the blended ratio at every document with a gain above 0, float64 (topics,), 0 to 1.

    0 where no document has a gain above 0. With beta 0 it is average precision over these documents.

    Grade 1 at rank 1, grade 2 at rank 3: ((1 + 1) / (1 + 2) + (2 + 3) / (3 + 3)) / 2.

    >>> from leaderboard.measures.richer_examples import judged
    >>> q_measure(judged({1: 1, 3: 2}))
    array([0.75])
    """
    hits, ideal = _gained(judged, gains), _ideal(judged.judgments, gains)
    best = running(np.add, ideal.starts, ideal.gain)
    place, _ = ideal.place(hits.topic, hits.rank)
    numerator = positions(hits.starts, hits.topic) + beta * running(np.add, hits.starts, hits.gain)
    return ratio(
        judged.totals(hits.topic, numerator / (hits.rank + beta * best[place])), np.diff(ideal.starts)
    )


class _Gained(NamedTuple):
    """The hits with a gain above 0, each (hits,), and where each topic's begin, (topics + 1,)."""

    topic: IntArray
    rank: IntArray
    gain: FloatArray
    starts: IntArray


class _Ideal(NamedTuple):
    """The documents with a gain above 0 as the ideal ranking has them, laid out as the hits are."""

    topic: IntArray
    rank: IntArray
    gain: FloatArray
    starts: IntArray

    def place(self, topic: IntArray, rank: IntArray) -> tuple[IntArray, IntArray]:
        """Where the ideal ranking is at a rank, or its last place, and how far that is beyond it."""
        within = np.minimum(rank, np.diff(self.starts)[topic])
        return self.starts[topic] + within - 1, rank - within

    def changes(self) -> IntArray:
        """The places whose gain is the last of its kind in the topic."""
        after = np.append(self.gain[1:] != self.gain[:-1], True)
        after[self.starts[1:][np.diff(self.starts) > 0] - 1] = True
        return np.flatnonzero(after[: len(self.gain)])


def _gained(judged: Judged, gains: Gains | None) -> _Gained:
    gain = document_gains(judged.judgments, gains)[judged.document]
    gaining = gain > 0
    topic = judged.topic[gaining]
    return _Gained(topic, judged.rank[gaining], gain[gaining], bounds_of(topic, len(judged.judgments)))


def _ideal(judgments: Judgments, gains: Gains | None) -> _Ideal:
    order = ideal_order(judgments, gains)
    topic = judgments.topic[order]
    starts = bounds_of(topic, len(judgments))
    rank = np.arange(1, len(topic) + 1, dtype=np.int64) - starts[topic]
    return _Ideal(topic, rank, document_gains(judgments, gains)[order], starts)


def _sum_at(hits: _Gained, sums: FloatArray, topic: IntArray, rank: IntArray) -> FloatArray:
    """The running sums of the hits at ranks of topics that need not be hits."""
    deepest = 1 + max(int(hits.rank.max(initial=0)), int(rank.max(initial=0)))
    end = np.searchsorted(hits.topic * deepest + hits.rank, topic * deepest + rank, side="right")
    return np.where(end > hits.starts[topic], np.append(sums, 0.0)[end - 1], 0.0)


G = Measure(
    name="G",
    title="Normalised gain over cost",
    formula=(
        "Σ over ranks i of gain / log2(2 + cost of the ideal's top i − gain of the top i), divided by the "
        "sum of all gains; a rank of the ideal costs its gain, at least 1"
    ),
    citation=_CITATION,
    compute=gain_over_cost,
    parameters=(GAINS, JUDGED_ONLY),
    trec_names=(TrecName("G"),),
    note=_NOTE,
)

BIN_G = Measure(
    name="binG",
    title="Binary gain over cost",
    formula="1/R · Σ over relevant documents of 1 / log2(2 + documents above that are not relevant)",
    citation=_CITATION,
    compute=binary_gain,
    parameters=(REL, JUDGED_ONLY),
    trec_names=(TrecName("binG"),),
)

NDCG_REL = Measure(
    name="nDCGrel",
    title="nDCG averaged over the relevant documents",
    formula="mean over documents with a gain above 0 of nDCG at their rank, or at the end if not retrieved",
    citation=_CITATION,
    compute=ndcg_at_relevant,
    parameters=(GAINS, JUDGED_ONLY),
    trec_names=(TrecName("ndcg_rel"),),
    note=_NOTE,
)

Q_MEASURE = Measure(
    name="Q",
    title="Q-measure",
    formula=(
        "1/R · Σ over ranks i of documents with a gain above 0 of (such documents in the top i + beta · "
        "their gains) / (i + beta · the ideal ranking's gains in the top i)"
    ),
    citation=(
        "Sakai, New Performance Metrics Based on Multigrade Relevance: Their Application to Question "
        "Answering, NTCIR-4, 2004"
    ),
    compute=q_measure,
    parameters=(
        Parameter("beta", "number", "The weight of gains relative to precision.", 0, LARGEST, default=1.0),
        GAINS,
        JUDGED_ONLY,
    ),
    aliases=("Q_measure", "QMeasure"),
    note="NTCIREVAL's gains of its relevance levels, such as -g 1:2:3, are gains={1:1,2:2,3:3} here.",
)

R_NDCG = Measure(
    name="RnDCG",
    title="nDCG averaged over the ranks where the ideal gain changes",
    formula="mean of nDCG at the last rank of every gain above 0 in the ideal ranking, and at the end",
    citation=_CITATION,
    compute=ndcg_at_levels,
    parameters=(
        Parameter(
            REL.name,
            "integer",
            "A topic needs a document of at least this grade to score above 0.",
            REL.low,
            REL.high,
            default=REL.default,
        ),
        GAINS,
        JUDGED_ONLY,
    ),
    trec_names=(TrecName("Rndcg"),),
    note=f"{_NOTE} A run one document longer than the ideal has no point at its end, as in trec_eval.",
)
