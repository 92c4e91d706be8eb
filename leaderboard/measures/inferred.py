"""Inferred average precision, for pools where a sample was judged."""

import numpy as np

from leaderboard.measures.judged import FloatArray, Judged, ratio
from leaderboard.measures.record import JUDGED_ONLY, REL, Measure, TrecName

EPSILON = 1e-5
"""Constant of the source, added where nothing judged is above, so that the share stays between 0 and 1."""


def inferred_average_precision(judged: Judged, *, rel: int = 1) -> FloatArray:
    """Average precision as a judged sample of the pool tells it, float64 (topics,), between 0 and 1.

    Precision at a relevant document is estimated: the share of pooled documents above it, times the share of
    relevant ones among the judged above it. Documents of a negative grade are pooled but not judged, those
    not in the judgments not pooled. The same as AP, except for 1e-5 in the share, where all retrieved
    documents are judged. 0 where a topic has no relevant document. Source: Yilmaz and Aslam 2006; trec_eval
    `infAP`.

    A relevant document at rank 3 below a pooled one and a relevant one: 1/3 + 2/3 · 2/2 · (1 of 1).

    >>> from leaderboard.measures.richer_examples import judged
    >>> inferred_average_precision(judged({1: 1, 2: -1, 3: 1})).round(4)
    array([1.])
    """
    relevant = judged.grade >= rel
    hits = np.flatnonzero(relevant)
    topic, rank = judged.topic[hits], judged.rank[hits].astype(np.float64)
    above = rank - 1.0
    relevant_above = judged.above(relevant, hits)
    rejected = judged.above((judged.grade >= 0) & ~relevant, hits)
    pooled = judged.above(np.ones(len(relevant), dtype=np.bool_), hits)
    share = (relevant_above + EPSILON) / (relevant_above + rejected + 2 * EPSILON)
    expected = 1.0 / rank + (above / rank) * ratio(pooled, above) * share
    return ratio(judged.totals(topic, np.where(above == 0, 1.0, expected)), judged.judgments.relevant(rel))


INF_AP = Measure(
    name="infAP",
    title="Inferred average precision",
    formula=(
        "1/R · Σ over relevant documents at rank i of 1/i + (i − 1)/i · (pooled above) / (i − 1) · "
        "(relevant above + ε) / (judged above + 2ε), with ε = 0.00001"
    ),
    citation=(
        "Yilmaz and Aslam, Estimating Average Precision with Incomplete and Imperfect Judgments, CIKM 2006"
    ),
    compute=inferred_average_precision,
    parameters=(REL, JUDGED_ONLY),
    trec_names=(TrecName("infAP"),),
    note="R is the number of judged relevant documents; it is not scaled up by the rate of sampling.",
)
