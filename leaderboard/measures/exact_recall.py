"""Interpolated precision at exact recall levels, and its averages.

Precision at a recall level is the highest at any rank that reaches the level or a higher one.
"""

from typing import TYPE_CHECKING

import numpy as np

from leaderboard.measures.judged import FloatArray, IntArray, Judged
from leaderboard.measures.record import JUDGED_ONLY, REL, Measure, Parameter

if TYPE_CHECKING:
    from fractions import Fraction


def level_of(value: float) -> "Fraction":
    """The fraction of a level, so that 3 · 0.2 is 0.6; the nearest with a divisor up to a million.

    >>> level_of(0.2) * 3 == level_of(0.6), level_of(0.3333333333)
    (True, Fraction(1, 3))
    """
    from fractions import Fraction

    return Fraction(value).limit_denominator(1_000_000)


def needed(level: "Fraction", relevant: IntArray) -> IntArray:
    """Number of relevant documents needed to reach a recall level, in the shape of relevant.

    >>> needed(level_of(0.6), np.array([5, 8]))
    array([3, 5])
    """
    counts: IntArray = -(-relevant * level.numerator // level.denominator)
    return counts


def best_from_here(topic: IntArray, values: FloatArray) -> FloatArray:
    """The largest of each value and those after it in its topic, for ascending topics.

    >>> best_from_here(np.array([0, 0, 0, 1]), np.array([0.5, 0.2, 0.4, 0.9]))
    array([0.5, 0.4, 0.4, 0.9])
    """
    best = values.copy()
    step = 1
    while step < len(best) and (same := topic[step:] == topic[:-step]).any():
        best[:-step] = np.where(same, np.maximum(best[:-step], best[step:]), best[:-step])
        step *= 2
    return best


def exact_interpolated_precision(judged: Judged, *, rel: int = 1, recall: float) -> FloatArray:
    """The highest precision at any rank that reaches a recall level, float64 (topics,), between 0 and 1.

    The level is compared as a fraction. At level 0 it is the highest precision of all ranks; 0 where
    the level is never reached. Source: Manning, Raghavan and Schütze 2008, section 8.4.

    Two of three relevant documents reach recall 0.6: at rank 3 with precision 2/3.

    >>> from leaderboard.measures.richer_examples import judged
    >>> exact_interpolated_precision(judged({1: 1, 3: 1}, missed=[1]), recall=0.6)
    array([0.66666667])
    """
    hits = judged.relevant(rel)
    best = best_from_here(hits.topic, hits.nth / hits.rank)
    reached = hits.nth == np.maximum(needed(level_of(recall), judged.judgments.relevant(rel)), 1)[hits.topic]
    return judged.totals(hits.topic[reached], best[reached])


def interpolated_average(judged: Judged, *, rel: int = 1, step: float = 0.1) -> FloatArray:
    """The mean of the interpolated precision at recall step, 2 · step, ... 1, float64 (topics,), 0 to 1.

    Recall 0 is not a level. Where 1 is not a multiple of the step, the last level is the multiple below.
    Source: Manning, Raghavan and Schütze 2008, section 8.4, at other levels.

    One of two relevant documents found, at rank 2: 1/2 at five of ten levels.

    >>> from leaderboard.measures.richer_examples import judged
    >>> interpolated_average(judged({2: 1}, missed=[1])), interpolated_average(judged({2: 1}), step=0.5)
    (array([0.25]), array([0.5]))
    """
    total, levels = _total(judged, rel, level_of(step))
    return total / levels


def exact_eleven_points(judged: Judged, *, rel: int = 1) -> FloatArray:
    """The mean of the interpolated precision at recall 0, 0.1, ... 1, float64 (topics,), between 0 and 1.

    Levels are compared as fractions. Source: Manning, Raghavan and Schütze 2008, section 8.4.

    One of two relevant documents found, at rank 2: 1/2 at the six levels up to 0.5.

    >>> from leaderboard.measures.richer_examples import judged
    >>> exact_eleven_points(judged({2: 1}, missed=[1]))
    array([0.27272727])
    """
    total, levels = _total(judged, rel, level_of(0.1))
    return (total + exact_interpolated_precision(judged, rel=rel, recall=0.0)) / (levels + 1)


def _total(judged: Judged, rel: int, step: "Fraction") -> tuple[FloatArray, int]:
    """The sum of the interpolated precision over the multiples of step up to 1, and their number."""
    hits = judged.relevant(rel)
    best = best_from_here(hits.topic, hits.nth / hits.rank)
    # The nth relevant document is the one that reaches the levels above (n - 1) / R up to n / R.
    scale = judged.judgments.relevant(rel)[hits.topic] * step.numerator
    levels = hits.nth * step.denominator // scale - (hits.nth - 1) * step.denominator // scale
    return judged.totals(hits.topic, best * levels), step.denominator // step.numerator


RECALL = Parameter("recall", "number", "The recall level.", 0.0, 1.0, required=True, at=True)
STEP = Parameter("step", "number", "The distance between recall levels.", 0.001, 1.0, default=0.1)

_BOOK = (
    "Manning, Raghavan and Schütze, Introduction to Information Retrieval, section 8.4, "
    "Cambridge University Press, 2008"
)

INTERPOLATED_PRECISION = Measure(
    name="IPrecExact",
    title="Interpolated precision at a recall level",
    formula="max over ranks i with (relevant in top i) ≥ recall · R of (relevant in top i) / i",
    citation=_BOOK,
    compute=exact_interpolated_precision,
    parameters=(REL, RECALL, JUDGED_ONLY),
    note=(
        "Levels are fractions, so recall 0.7 of 3 relevant documents takes 3 of them. trec_eval rounds the "
        "number of documents, 2 of 3 here: that is IPrec."
    ),
)

INTERPOLATED_AVERAGE = Measure(
    name="IAP",
    title="Interpolated average precision at any step of recall (its mean is MAPI)",
    formula="1/m · Σ over levels r = step, 2 · step, … m · step ≤ 1 of the interpolated precision at r",
    citation=_BOOK,
    compute=interpolated_average,
    parameters=(REL, STEP, JUDGED_ONLY),
    aliases=("MAPI",),
    note="Recall 0 is not a level here, unlike in the 11-point average.",
)

EXACT_ELEVEN_POINTS = Measure(
    name="IAP11Exact",
    title="11-point interpolated average precision",
    formula="1/11 · Σ over levels r = 0, 0.1, … 1 of the interpolated precision at r",
    citation=_BOOK,
    compute=exact_eleven_points,
    parameters=(REL, JUDGED_ONLY),
    note="trec_eval rounds the number of documents a level takes; its 11pt_avg is IAP11.",
)
