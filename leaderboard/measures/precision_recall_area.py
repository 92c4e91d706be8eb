"""Areas under the curve of precision by recall that other texts call average precision."""

import numpy as np

from leaderboard.measures.exact_recall import best_from_here
from leaderboard.measures.judged import FloatArray, Judged, ratio
from leaderboard.measures.record import CUTOFF, JUDGED_ONLY, REL, Measure


def ap_retrieved(judged: Judged, *, rel: int = 1, cutoff: int | None = None) -> FloatArray:
    """The mean of the precision at the relevant documents retrieved, float64 (topics,), between 0 and 1.

    Divides by the relevant documents in the top cutoff, so that one missed costs nothing; 0 where
    it has none. Source: Baeza-Yates and Ribeiro-Neto 1999, at seen relevant documents.

    Relevant documents at ranks 1 and 3, a third one not retrieved: (1/1 + 2/3) / 2.

    >>> from leaderboard.measures.richer_examples import judged
    >>> ap_retrieved(judged({1: 1, 3: 1}, missed=[1]))
    array([0.83333333])
    """
    hits = judged.relevant(rel, cutoff)
    return ratio(judged.totals(hits.topic, hits.nth / hits.rank), judged.relevant_count(rel, cutoff))


def ap_trapezoid(judged: Judged, *, rel: int = 1, cutoff: int | None = None) -> FloatArray:
    """The area under the straight lines from rank to rank, float64 (topics,), between 0 and 1.

    The curve starts at recall 0 and precision 1 and has a point for every rank, so the drop before a
    relevant document counts. Source: Philbin et al. 2007, the scorer of their Oxford Buildings data.

    Relevant documents at ranks 1 and 3: precision 1, 1/2, 2/3, so ((1 + 1)/2 + (1/2 + 2/3)/2) / 2.

    >>> from leaderboard.measures.richer_examples import judged
    >>> ap_trapezoid(judged({1: 1, 3: 1}))
    array([0.79166667])
    """
    hits = judged.relevant(rel, cutoff)
    above = np.ones(len(hits.rank))
    np.divide(hits.nth - 1, hits.rank - 1, out=above, where=hits.rank > 1)
    heights = (above + hits.nth / hits.rank) / 2.0
    return ratio(judged.totals(hits.topic, heights), judged.judgments.relevant(rel))


def ap_trapezoid_points(judged: Judged, *, rel: int = 1, cutoff: int | None = None) -> FloatArray:
    """The area under the straight lines from relevant document to relevant document, (topics,).

    float64, from 0 to 1. The curve has a point for every relevant document retrieved and starts level
    with the first one; ranks between them do not count. Source: Davis and Goadrich 2006, who call
    these straight lines too favourable.

    Relevant documents at ranks 1 and 3: (1 + (1 + 2/3)/2) / 2.

    >>> from leaderboard.measures.richer_examples import judged
    >>> ap_trapezoid_points(judged({1: 1, 3: 1}))
    array([0.91666667])
    """
    hits = judged.relevant(rel, cutoff)
    precision = hits.nth / hits.rank
    before = np.where(hits.nth == 1, precision, np.roll(precision, 1))
    heights = (before + precision) / 2.0
    return ratio(judged.totals(hits.topic, heights), judged.judgments.relevant(rel))


def ap_envelope(judged: Judged, *, rel: int = 1, cutoff: int | None = None) -> FloatArray:
    """The area under the curve of interpolated precision, float64 (topics,), between 0 and 1.

    Each relevant document counts the highest precision at its rank or any further down, so the area
    is at least average precision. Source: Everingham et al. 2015, VOC's average precision since 2010.

    Relevant documents at ranks 2 and 3: precision 1/2, then 2/3, which is the best from both on.

    >>> from leaderboard.measures.richer_examples import judged
    >>> ap_envelope(judged({2: 1, 3: 1}))
    array([0.66666667])
    """
    hits = judged.relevant(rel, cutoff)
    best = best_from_here(hits.topic, hits.nth / hits.rank)
    return ratio(judged.totals(hits.topic, best), judged.judgments.relevant(rel))


AP_RETRIEVED = Measure(
    name="APRetrieved",
    title="Average precision over the relevant documents retrieved",
    formula="1/(relevant in top k) · Σ over relevant documents at rank i ≤ k of (relevant in top i) / i",
    citation="Baeza-Yates and Ribeiro-Neto, Modern Information Retrieval, section 3.2, 1999",
    compute=ap_retrieved,
    parameters=(REL, CUTOFF, JUDGED_ONLY),
    note=(
        "A run that stops after one relevant document at rank 1 scores 1, whatever it missed; AP, which "
        "divides by all relevant documents, is what trec_eval and most papers report."
    ),
)

AP_TRAPEZOID = Measure(
    name="APTrapezoid",
    title="Area under precision by recall, trapezoids between all ranks",
    formula="1/R · Σ over relevant documents at rank i ≤ k of (P(i − 1) + P(i)) / 2, P(0) = 1",
    citation=(
        "Philbin, Chum, Isard, Sivic and Zisserman, Object Retrieval with Large Vocabularies and Fast "
        "Spatial Matching, CVPR 2007"
    ),
    compute=ap_trapezoid,
    parameters=(REL, CUTOFF, JUDGED_ONLY),
    note="The scorer of the Oxford Buildings data computes in single precision and skips `junk` images.",
)

AP_TRAPEZOID_POINTS = Measure(
    name="APTrapezoidPoints",
    title="Area under precision by recall, trapezoids between relevant documents",
    formula="1/R · Σ over n of (p(n − 1) + p(n)) / 2, p(n) = precision at the nth relevant, p(0) = p(1)",
    citation="Davis and Goadrich, The Relationship Between Precision-Recall and ROC Curves, ICML 2006",
    compute=ap_trapezoid_points,
    parameters=(REL, CUTOFF, JUDGED_ONLY),
    note="Straight lines between points of this curve promise more than any system between them reaches.",
)

AP_ENVELOPE = Measure(
    name="APEnvelope",
    title="Area under interpolated precision by recall",
    formula="1/R · Σ over relevant documents at rank i ≤ k of max over ranks j, i ≤ j ≤ k, of P(j)",
    citation=(
        "Everingham, Eslami, Van Gool, Williams, Winn and Zisserman, The Pascal Visual Object Classes "
        "Challenge: A Retrospective, International Journal of Computer Vision 111(1), 2015"
    ),
    compute=ap_envelope,
    parameters=(REL, CUTOFF, JUDGED_ONLY),
)
