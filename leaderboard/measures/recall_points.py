"""Precision at points that recall names, and the best precision any ranking can have."""

from dataclasses import replace

import numpy as np

from leaderboard.measures.exact_recall import RECALL, level_of, needed
from leaderboard.measures.judged import FloatArray, Judged, ratio
from leaderboard.measures.record import CUTOFF_REQUIRED, JUDGED_ONLY, REL, Measure


def break_even(judged: Judged, *, rel: int = 1) -> FloatArray:
    """Precision where it equals recall, float64 (topics,), between 0 and 1.

    That is at rank R. 0 where fewer than R documents were retrieved: precision and recall of such a ranking
    never meet, unless both are 0. Source: van Rijsbergen 1979.

    Two of three relevant documents in the top 3: both are 2/3. Retrieving only two, they never meet.

    >>> from leaderboard.measures.richer_examples import judged
    >>> break_even(judged({1: 1, 3: 1}, missed=[1])), break_even(judged({1: 1, 2: 1}, missed=[1]))
    (array([0.66666667]), array([0.]))
    """
    relevant = judged.judgments.relevant(rel)
    meets = judged.retrieved >= relevant
    return ratio(np.where(meets, judged.relevant_count(rel, relevant), 0), relevant)


def precision_at_recall(judged: Judged, *, rel: int = 1, recall: float) -> FloatArray:
    """Precision at the first rank that reaches a recall level, float64 (topics,), between 0 and 1.

    The level is compared as a fraction; 0 where it is never reached.

    The second of three relevant documents reaches recall 0.6, at rank 5.

    >>> from leaderboard.measures.richer_examples import judged
    >>> precision_at_recall(judged({1: 1, 5: 1, 6: 1}), recall=0.6)
    array([0.4])
    """
    hits = judged.relevant(rel)
    reached = hits.nth == needed(level_of(recall), judged.judgments.relevant(rel))[hits.topic]
    return judged.totals(hits.topic[reached], (hits.nth / hits.rank)[reached])


def highest_precision(judged: Judged, *, rel: int = 1, cutoff: int) -> FloatArray:
    """The highest precision in the top cutoff any ranking can have, float64 (topics,), between 0 and 1.

    It is below 1 where a topic has fewer relevant documents than that, and the same for every run.
    Source: Manning, Raghavan and Schütze 2008, section 8.4.

    >>> from leaderboard.measures.richer_examples import judged
    >>> highest_precision(judged({2: 1}, missed=[1]), cutoff=5)
    array([0.4])
    """
    return np.minimum(judged.judgments.relevant(rel), cutoff) / cutoff


_BOOK = (
    "Manning, Raghavan and Schütze, Introduction to Information Retrieval, section 8.4, "
    "Cambridge University Press, 2008"
)

BREAK_EVEN = Measure(
    name="BreakEven",
    title="Break-even point of precision and recall",
    formula="(relevant in top R) / R where R or more documents were retrieved, else 0",
    citation="van Rijsbergen, Information Retrieval, 2nd edition, 1979",
    compute=break_even,
    parameters=(REL, JUDGED_ONLY),
    note=(
        "Where fewer than R documents were retrieved the point does not exist; it scores 0, so that every "
        "run has a score for every topic. R-precision divides by R all the same."
    ),
)

PRECISION_AT_RECALL = Measure(
    name="PAtRecall",
    title="Precision at the first rank that reaches a recall level",
    formula="(relevant in top i) / i at the first rank i with (relevant in top i) ≥ recall · R",
    citation=_BOOK,
    compute=precision_at_recall,
    parameters=(REL, replace(RECALL, low=0.001), JUDGED_ONLY),
    note=(
        "Recall stays the same from one relevant document to the next while precision falls; the first "
        "rank is the usual choice. Not interpolated: IPrecExact takes the best rank from there on."
    ),
)

HIGHEST_PRECISION = Measure(
    name="PCeiling",
    title="Highest precision in the top k that any ranking can have",
    formula="min(R, k) / k",
    citation=_BOOK,
    compute=highest_precision,
    parameters=(REL, CUTOFF_REQUIRED),
    direction="none",
)
