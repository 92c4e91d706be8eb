"""Novelty and diversity: a subtopic is worth less each time it comes again (the measures of ndeval)."""

import math

import numpy as np

from leaderboard.measures.cwl import LISTED_CUTOFF
from leaderboard.measures.diversity.subtopics import Gained, answerable, decays, ideal_novelty, novelty
from leaderboard.measures.judged import FloatArray, Judged, log2_discounts, ratio, sums
from leaderboard.measures.record import CUTOFF, JUDGED_ONLY, REL, Measure, Need, Parameter


def alpha_dcg(judged: Judged, *, rel: int = 1, alpha: float = 0.5, cutoff: int) -> FloatArray:
    """Discounted novelty over that of documents relevant to every subtopic, float64 (topics,), 0 to 1.

    A document gains (1 - alpha)^n for each of its subtopics, where n documents above it have that
    subtopic too; the discount is log2(rank + 1). The divisor is what cutoff documents relevant to all
    subtopics would have: no real ranking may reach it. Subtopics that no document is relevant to do not
    count; 0 where a topic has no other. Source: Clarke et al. 2008; ndeval `alpha-DCG@k`.

    Of two subtopics, rank 1 has the first, rank 2 both: 1 + (1/2 + 1) / log2(3), where all of both
    would be 2 + 1/log2(3).

    >>> from leaderboard.measures.richer_examples import covering
    >>> alpha_dcg(covering({1: (1,), 2: (1, 2)}), cutoff=2).round(6)
    array([0.739812])
    """
    gained = novelty(judged, rel, alpha, cutoff)
    weight = 1.0 / log2_discounts(np.arange(1, cutoff + 1))
    return ratio(_discounted(judged, gained), _perfect(judged, rel, alpha, weight))


def alpha_ndcg(judged: Judged, *, rel: int = 1, alpha: float = 0.5, cutoff: int | None = None) -> FloatArray:
    """Discounted novelty over that of an ideal ranking of the judged documents, float64 (topics,).

    A document gains (1 - alpha)^n for each of its subtopics, where n documents above it have that
    subtopic too; the discount is log2(rank + 1). The ideal ranking has the document that gains most next
    at every rank, of several the one with the greatest docno. That is not always the best ranking, so a
    score can be above 1, though never above e / (e - 1). 0 where no document is relevant to a subtopic.
    Source: Clarke et al. 2008; ndeval `alpha-nDCG@k`.

    Rank 1 has subtopic 1, rank 2 both of two: 1 + (1/2 + 1) / log2(3). Ideal is the other order:
    2 + 1/2 / log2(3).

    >>> from leaderboard.measures.richer_examples import covering
    >>> alpha_ndcg(covering({1: (1,), 2: (1, 2)})).round(6)
    array([0.840606])
    """
    best = ideal_novelty(judged.judgments, rel, alpha, cutoff)
    return ratio(_discounted(judged, novelty(judged, rel, alpha, cutoff)), _discounted(judged, best))


def err_ia(judged: Judged, *, rel: int = 1, alpha: float = 0.5, cutoff: int) -> FloatArray:
    """Novelty over rank, divided by that of documents relevant to every subtopic, float64 (topics,), 0 to 1.

    A document gains (1 - alpha)^n for each of its subtopics, where n documents above it have that
    subtopic too, divided by its rank. The divisor is what cutoff documents relevant to all subtopics
    would have: no real ranking may reach it. Subtopics that no document is relevant to do not count; 0
    where a topic has no other. Source: Chapelle et al. 2009, Clarke et al. 2011; ndeval `ERR-IA@k`.

    Of two subtopics, rank 1 has the first, rank 2 both: 1 + (1/2 + 1) / 2, where all of both would be
    2 + 1/2.

    >>> from leaderboard.measures.richer_examples import covering
    >>> err_ia(covering({1: (1,), 2: (1, 2)}), cutoff=2)
    array([0.7])
    """
    gained = novelty(judged, rel, alpha, cutoff)
    return ratio(_by_rank(judged, gained), _perfect(judged, rel, alpha, 1.0 / np.arange(1, cutoff + 1)))


def nerr_ia(judged: Judged, *, rel: int = 1, alpha: float = 0.5, cutoff: int | None = None) -> FloatArray:
    """Novelty over rank, divided by that of an ideal ranking of the judged documents, float64 (topics,).

    As for ERR_IA; the ideal ranking is that of alpha_nDCG: a score can be above 1, though never above
    e / (e - 1). 0 where no document is relevant to a subtopic. Source: Clarke et al. 2011; ndeval
    `nERR-IA@k`.

    Rank 1 has subtopic 1, rank 2 both of two: 1 + (1/2 + 1) / 2. Ideal is the other order: 2 + 1/2 / 2.

    >>> from leaderboard.measures.richer_examples import covering
    >>> nerr_ia(covering({1: (1,), 2: (1, 2)})).round(6)
    array([0.777778])
    """
    best = ideal_novelty(judged.judgments, rel, alpha, cutoff)
    return ratio(_by_rank(judged, novelty(judged, rel, alpha, cutoff)), _by_rank(judged, best))


def nrbp(judged: Judged, *, rel: int = 1, alpha: float = 0.5, beta: float = 0.5) -> FloatArray:
    """Novelty by a reader who continues with probability beta, over all they could gain, (topics,).

    float64, from 0 to 1. A document gains (1 - alpha)^n for each of its subtopics, where n documents
    above it have that subtopic too, and rank i weighs beta^(i - 1). The divisor is the gain of endlessly
    many documents relevant to all subtopics; 0 where no document is relevant to a subtopic.
    Source: Clarke, Kolla and Vechtomova 2009; ndeval `NRBP`.

    Of two subtopics, rank 1 has the first, rank 2 both: 1 + 1/2 · (1/2 + 1), times (1 - 1/2 · 1/2) / 2.

    >>> from leaderboard.measures.richer_examples import covering
    >>> nrbp(covering({1: (1,), 2: (1, 2)}))
    array([0.65625])
    """
    subtopics = answerable(judged.judgments, rel)
    share = ratio(np.full(len(subtopics), 1.0 - (1.0 - alpha) * beta), subtopics)
    whole: FloatArray = _biased(judged, novelty(judged, rel, alpha), beta) * share
    return whole


def nnrbp(judged: Judged, *, rel: int = 1, alpha: float = 0.5, beta: float = 0.5) -> FloatArray:
    """Novelty by a reader who continues with probability beta, over that of an ideal ranking, (topics,).

    float64. As for NRBP; the ideal ranking is that of alpha_nDCG: a score can be above 1, though never
    above e / (e - 1). 0 where no document is relevant to a subtopic. Source: ndeval `nNRBP`.

    Rank 1 has subtopic 1, rank 2 both of two: 1 + 1/2 · 3/2. Ideal is the other order: 2 + 1/2 · 1/2.

    >>> from leaderboard.measures.richer_examples import covering
    >>> nnrbp(covering({1: (1,), 2: (1, 2)})).round(6)
    array([0.777778])
    """
    best = ideal_novelty(judged.judgments, rel, alpha)
    return ratio(_biased(judged, novelty(judged, rel, alpha), beta), _biased(judged, best, beta))


def _discounted(judged: Judged, gained: Gained) -> FloatArray:
    return sums(gained.topic, gained.gain / log2_discounts(gained.rank), len(judged.judgments))


def _by_rank(judged: Judged, gained: Gained) -> FloatArray:
    return sums(gained.topic, gained.gain / gained.rank, len(judged.judgments))


def _biased(judged: Judged, gained: Gained, beta: float) -> FloatArray:
    weight = decays(beta, int(gained.rank.max(initial=0)))[gained.rank - 1]
    return sums(gained.topic, gained.gain * weight, len(judged.judgments))


def _perfect(judged: Judged, rel: int, alpha: float, weight: FloatArray) -> FloatArray:
    """The gain of documents relevant to all subtopics down to the cutoff, rank i weighing weight[i - 1]."""
    # cumsum adds in order: the same bits on every processor.
    total = np.cumsum(decays(1.0 - alpha, len(weight)) * weight)[-1]
    whole: FloatArray = answerable(judged.judgments, rel) * total
    return whole


ALPHA = Parameter(
    "alpha",
    "number",
    "The share of its gain that a subtopic loses with each document containing it.",
    0.0,
    1.0,
    default=0.5,
)
BETA = Parameter(
    "beta", "number", "The probability that a reader continues to the next rank.", 0.0, 1.0, default=0.5
)

GREEDY_RANGE = (0.0, math.e / (math.e - 1.0))
"""A greedy ranking has at least 1 - 1/e of what the best one has: the gain is submodular."""
_GAIN = "gain(i) = Σ over subtopics of the document at rank i of (1 − α)^(documents above it that have it)"
_GREEDY = "The ideal ranking is greedy, so a score can be above 1, as in ndeval. "
_GRADES = "A document is relevant to a subtopic or not: grades of rel and more are alike, as in ndeval. "
_NO_LIMIT = "ndeval stops at rank 20 and takes a run's order from its rank column unless called -traditional."
_CASCADE = (
    "Clarke, Craswell, Soboroff and Ashkan, A Comparative Analysis of Cascade Measures for Novelty and "
    "Diversity, WSDM 2011"
)
_SIGIR = (
    "Clarke, Kolla, Cormack, Vechtomova, Ashkan, Büttcher and MacKinnon, Novelty and Diversity in "
    "Information Retrieval Evaluation, SIGIR 2008"
)
_ICTIR = (
    "Clarke, Kolla and Vechtomova, An Effectiveness Measure for Ambiguous and Underspecified Queries, "
    "ICTIR 2009"
)
_SUBTOPICS: frozenset[Need] = frozenset({"subtopics"})

ALPHA_DCG = Measure(
    name="alpha_DCG",
    title="α-DCG, novelty-biased discounted cumulative gain",
    formula=(
        f"Σ over ranks i ≤ k of gain(i) / log2(i + 1), {_GAIN}, divided by S · Σ over ranks i ≤ k of "
        "(1 − α)^(i − 1) / log2(i + 1), S = subtopics with a relevant document"
    ),
    citation=_SIGIR,
    compute=alpha_dcg,
    parameters=(REL, ALPHA, LISTED_CUTOFF, JUDGED_ONLY),
    needs=_SUBTOPICS,
    note=f"At k = 1 ndeval forgets to divide: its alpha-DCG@1 is S times as large. {_GRADES}{_NO_LIMIT}",
)

ALPHA_NDCG = Measure(
    name="alpha_nDCG",
    title="α-nDCG, normalised novelty-biased discounted cumulative gain",
    formula=f"Σ over ranks i ≤ k of gain(i) / log2(i + 1), {_GAIN}, divided by that of the ideal ranking",
    citation=_SIGIR,
    compute=alpha_ndcg,
    parameters=(REL, ALPHA, CUTOFF, JUDGED_ONLY),
    range=GREEDY_RANGE,
    needs=_SUBTOPICS,
    note=f"{_GREEDY}{_GRADES}{_NO_LIMIT}",
)

ERR_IA = Measure(
    name="ERR_IA",
    title="Intent-aware expected reciprocal rank",
    formula=(
        f"Σ over ranks i ≤ k of gain(i) / i, {_GAIN}, divided by S · Σ over ranks i ≤ k of "
        "(1 − α)^(i − 1) / i, S = subtopics with a relevant document"
    ),
    citation=(
        "Chapelle, Metzler, Zhang and Grinspan, Expected Reciprocal Rank for Graded Relevance, CIKM 2009; "
        f"in this form {_CASCADE}"
    ),
    compute=err_ia,
    parameters=(REL, ALPHA, LISTED_CUTOFF, JUDGED_ONLY),
    needs=_SUBTOPICS,
    note=(
        "At k = 1 ndeval, and ir_measures through it, forgets to divide: its ERR-IA@1 is S times as large, "
        f"such as 2.0. {_GRADES}{_NO_LIMIT}"
    ),
)

NERR_IA = Measure(
    name="nERR_IA",
    title="Normalised intent-aware expected reciprocal rank",
    formula=f"Σ over ranks i ≤ k of gain(i) / i, {_GAIN}, divided by that of the ideal ranking",
    citation=_CASCADE,
    compute=nerr_ia,
    parameters=(REL, ALPHA, CUTOFF, JUDGED_ONLY),
    range=GREEDY_RANGE,
    needs=_SUBTOPICS,
    note=f"{_GREEDY}{_GRADES}{_NO_LIMIT}",
)

NRBP = Measure(
    name="NRBP",
    title="Novelty- and rank-biased precision",
    formula=(
        f"(1 − (1 − α)β) / S · Σ over ranks i of β^(i − 1) · gain(i), {_GAIN}, "
        "S = subtopics with a relevant document"
    ),
    citation=_ICTIR,
    compute=nrbp,
    parameters=(REL, ALPHA, BETA, JUDGED_ONLY),
    needs=_SUBTOPICS,
    note=_GRADES.strip(),
)

NNRBP = Measure(
    name="nNRBP",
    title="Normalised novelty- and rank-biased precision",
    formula=f"Σ over ranks i of β^(i − 1) · gain(i), {_GAIN}, divided by that of the ideal ranking",
    citation=_ICTIR,
    compute=nnrbp,
    parameters=(REL, ALPHA, BETA, JUDGED_ONLY),
    range=GREEDY_RANGE,
    needs=_SUBTOPICS,
    note=f"{_GREEDY}{_GRADES.strip()}",
)
