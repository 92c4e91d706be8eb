"""Measures of one ranking for several subtopics at once: coverage, and means over subtopics."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from leaderboard.measures.diversity.subtopics import (
    answerable,
    by_topic,
    covered,
    earlier,
    relevant_rows,
    relevant_to,
    topic_of_subtopics,
)
from leaderboard.measures.judged import (
    FloatArray,
    IntArray,
    Judged,
    Judgments,
    log2_discounts,
    positions,
    ratio,
    sums,
)
from leaderboard.measures.record import CUTOFF, CUTOFF_REQUIRED, JUDGED_ONLY, REL, Measure, Need, Parameter


def subtopic_recall(judged: Judged, *, rel: int = 1, cutoff: int | None = None) -> FloatArray:
    """The share of the subtopics that the top cutoff ranks are relevant to, float64 (topics,), 0 to 1.

    Of all ranks without a cutoff. Subtopics that no document is relevant to do not count; 0 where a
    topic has no other. Source: Zhai, Cohen and Lafferty 2003; ndeval `strec@k`.

    Two of three subtopics in the top two:

    >>> from leaderboard.measures.richer_examples import covering
    >>> subtopic_recall(covering({1: (1,), 2: (1, 2), 4: (3,)}), cutoff=2)
    array([0.66666667])
    """
    seen = np.unique(covered(judged, rel, cutoff).subtopic)
    topic = topic_of_subtopics(judged.judgments)[seen]
    return ratio(np.bincount(topic, minlength=len(judged.judgments)), answerable(judged.judgments, rel))


def precision_ia(judged: Judged, *, rel: int = 1, cutoff: int) -> FloatArray:
    """The mean over subtopics of the precision of the top cutoff ranks, float64 (topics,), 0 to 1.

    Divides by cutoff also where fewer were retrieved. Subtopics that no document is relevant to do not
    count; 0 where a topic has no other. Source: Agrawal et al. 2009; ndeval `P-IA@k`.

    One document for subtopic 1, two for subtopic 2, in four ranks: (1/4 + 2/4) / 2.

    >>> from leaderboard.measures.richer_examples import covering
    >>> precision_ia(covering({1: (2,), 2: (1, 2)}), cutoff=4)
    array([0.375])
    """
    hits = np.bincount(covered(judged, rel, cutoff).topic, minlength=len(judged.judgments))
    return ratio(hits, cutoff * answerable(judged.judgments, rel))


def average_precision_ia(judged: Judged, *, rel: int = 1) -> FloatArray:
    """The mean over subtopics of average precision, float64 (topics,), between 0 and 1.

    Subtopics that no document is relevant to do not count; 0 where a topic has no other.
    Source: Agrawal et al. 2009; ndeval `MAP-IA`.

    Subtopic 1 is at rank 2, subtopic 2 at ranks 1 and 2: (1/2 + 1) / 2.

    >>> from leaderboard.measures.richer_examples import covering
    >>> average_precision_ia(covering({1: (2,), 2: (1, 2)}))
    array([0.75])
    """
    rows = covered(judged, rel)
    relevant = relevant_to(judged.judgments, rel)
    precision = (earlier(rows.subtopic) + 1) / rows.rank
    return _mean(judged.judgments, ratio(sums(rows.subtopic, precision, len(relevant)), relevant), rel)


def ndcg_ia(judged: Judged, *, cutoff: int | None = None) -> FloatArray:
    """The mean over subtopics of nDCG, float64 (topics,), between 0 and 1.

    The gain is the grade for the subtopic, the discount log2(rank + 1), and every subtopic has an ideal
    ranking of its own, so that one ranking rarely reaches 1. Subtopics without a positive grade do not
    count; 0 where a topic has no other. Source: Agrawal et al. 2009.

    Rank 1 has subtopic 1, rank 2 both, and both have a document of grade 1 that was missed:
    (1 + 1/log2(3)) and 1/log2(3), over 1 + 1/log2(3) + 1/2 and 1 + 1/log2(3).

    >>> from leaderboard.measures.richer_examples import covering
    >>> ndcg_ia(covering({1: (1,), 2: (1, 2)}, missed=[(1, 2)])).round(6)
    array([0.576107])
    """
    rows = covered(judged, 1, cutoff)
    ideal = judged.judgments.keep(("ideal by subtopic", cutoff), lambda: _ideals(judged.judgments, cutoff))
    gain = sums(rows.subtopic, rows.grade / log2_discounts(rows.rank), len(ideal))
    return _mean(judged.judgments, ratio(gain, ideal), 1)


def d_ndcg(judged: Judged, *, cutoff: int | None = None) -> FloatArray:
    """nDCG where a document gains its grades for all subtopics together, float64 (topics,), 0 to 1.

    All subtopics are equally likely; the discount is log2(rank + 1). 0 where no document has a positive
    grade for a subtopic. Source: Sakai and Song 2011, D-nDCG.

    Gains 1 and 3, best in the other order: (1 + 3/log2(3)) / (3 + 1/log2(3)).

    >>> from leaderboard.measures.richer_examples import covering
    >>> d_ndcg(covering({1: (1,), 2: {1: 1, 2: 2}})).round(6)
    array([0.796708])
    """
    gain = _gains(judged.judgments)[judged.document]
    counted = gain > 0 if cutoff is None else (gain > 0) & (judged.rank <= cutoff)
    total = judged.totals(judged.topic[counted], gain[counted] / log2_discounts(judged.rank[counted]))
    ideal = judged.judgments.keep(("ideal of all", cutoff), lambda: _ideal(judged.judgments, cutoff))
    return ratio(total, ideal)


def d_sharp_ndcg(judged: Judged, *, gamma: float = 0.5, cutoff: int | None = None) -> FloatArray:
    """Subtopic recall and D-nDCG, weighed, float64 (topics,), between 0 and 1.

    gamma is the weight of subtopic recall, the share of subtopics with a positive grade that the
    ranking covers. 0 where no document has a positive grade for a subtopic.
    Source: Sakai and Song 2011, D#-nDCG.

    One of two subtopics is covered, and D-nDCG is 1 / (3 + 1/log2(3)):

    >>> from leaderboard.measures.richer_examples import covering
    >>> d_sharp_ndcg(covering({1: (1,)}, missed=[{1: 1, 2: 2}])).round(6)
    array([0.387706])
    """
    recall = subtopic_recall(judged, cutoff=cutoff)
    whole: FloatArray = gamma * recall + (1.0 - gamma) * d_ndcg(judged, cutoff=cutoff)
    return whole


def _mean(judgments: Judgments, values: FloatArray, rel: int) -> FloatArray:
    """The mean over each topic's subtopics with a relevant document; the others have value 0."""
    return ratio(by_topic(judgments, values), answerable(judgments, rel))


def _ideals(judgments: Judgments, cutoff: int | None) -> FloatArray:
    """The largest discounted gain the top cutoff ranks can have for each subtopic by itself."""
    rows = relevant_rows(judgments, 1)
    order = np.lexsort((-rows.grade, rows.subtopic))
    count = len(relevant_to(judgments, 1))
    return _best(rows.subtopic[order], rows.grade[order], count, cutoff)


def _gains(judgments: Judgments) -> FloatArray:
    """The sum of every judged document's grades for subtopics, (documents,)."""
    rows = relevant_rows(judgments, 1)
    size = np.diff(rows.bounds)
    return sums(np.repeat(np.arange(len(size)), size), rows.grade, len(size))


def _ideal(judgments: Judgments, cutoff: int | None) -> FloatArray:
    """The largest discounted gain the top cutoff ranks can have for all subtopics together."""
    gain = _gains(judgments)
    order = np.lexsort((-gain, judgments.topic))
    return _best(judgments.topic[order], gain[order], len(judgments), cutoff)


def _best(group: IntArray, gain: NDArray[Any], groups: int, cutoff: int | None) -> FloatArray:
    """The discounted gain of each group's top cutoff ranks, for gains in descending order by group."""
    rank = positions(np.searchsorted(group, np.arange(groups)), group)
    counted = gain > 0 if cutoff is None else (gain > 0) & (rank <= cutoff)
    return sums(group[counted], gain[counted] / log2_discounts(rank[counted]), groups)


GAMMA = Parameter("gamma", "number", "γ, the weight of subtopic recall.", 0.0, 1.0, default=0.5)

_AGRAWAL = "Agrawal, Gollapudi, Halverson and Ieong, Diversifying Search Results, WSDM 2009"
_SAKAI = "Sakai and Song, Evaluating Diversified Search Results Using Per-intent Graded Relevance, SIGIR 2011"
_EQUAL = "All subtopics are taken to be equally likely: qrels do not say how likely they are. "
_LINEAR = "Gains are linear in the grade."
_SUBTOPICS: frozenset[Need] = frozenset({"subtopics"})
_GRADED: frozenset[Need] = frozenset({"subtopics", "graded"})

ST_RECALL = Measure(
    name="StRecall",
    title="Subtopic recall",
    formula="(subtopics with a relevant document in the top k) / S, S = subtopics with a relevant document",
    citation=(
        "Zhai, Cohen and Lafferty, Beyond Independent Relevance: Methods and Evaluation Metrics for Subtopic "
        "Retrieval, SIGIR 2003"
    ),
    compute=subtopic_recall,
    parameters=(REL, CUTOFF, JUDGED_ONLY),
    needs=_SUBTOPICS,
    note="Also known as I-rec. ndeval stops at rank 20.",
)

P_IA = Measure(
    name="P_IA",
    title="Intent-aware precision",
    formula="1/S · Σ over subtopics of P@k for the subtopic, S = subtopics with a relevant document",
    citation=_AGRAWAL,
    compute=precision_ia,
    parameters=(REL, CUTOFF_REQUIRED, JUDGED_ONLY),
    needs=_SUBTOPICS,
    note=f"{_EQUAL}ndeval stops at rank 20.",
)

AP_IA = Measure(
    name="AP_IA",
    title="Intent-aware average precision",
    formula="1/S · Σ over subtopics of AP for the subtopic, S = subtopics with a relevant document",
    citation=_AGRAWAL,
    compute=average_precision_ia,
    parameters=(REL, JUDGED_ONLY),
    aliases=("MAP_IA",),
    needs=_SUBTOPICS,
    note=_EQUAL.strip(),
)

NDCG_IA = Measure(
    name="nDCG_IA",
    title="Intent-aware normalised discounted cumulative gain",
    formula="1/S · Σ over subtopics of nDCG@k for the subtopic, S = subtopics with a positive grade",
    citation=_AGRAWAL,
    compute=ndcg_ia,
    parameters=(CUTOFF, JUDGED_ONLY),
    needs=_GRADED,
    note=f"{_EQUAL}{_LINEAR}",
)

D_NDCG = Measure(
    name="D_nDCG",
    title="D-nDCG, discounted cumulative gain of all subtopics together",
    formula=(
        "Σ over ranks i ≤ k of gain(i) / log2(i + 1), gain = Σ over subtopics of max(grade, 0), "
        "divided by that sum of the documents in descending order of gain"
    ),
    citation=_SAKAI,
    compute=d_ndcg,
    parameters=(CUTOFF, JUDGED_ONLY),
    needs=_GRADED,
    note=f"{_EQUAL}{_LINEAR}",
)

D_SHARP_NDCG = Measure(
    name="DSharp_nDCG",
    title="D♯-nDCG, subtopic recall and D-nDCG",
    formula="γ · StRecall@k + (1 − γ) · D_nDCG@k",
    citation=_SAKAI,
    compute=d_sharp_ndcg,
    parameters=(GAMMA, CUTOFF, JUDGED_ONLY),
    needs=_GRADED,
    note=f"{_EQUAL}{_LINEAR}",
)
