"""Cumulated gain and discounted cumulated gain in their published forms, not normalised."""

import math
from collections.abc import Callable
from functools import cache
from typing import NamedTuple

import numpy as np

from leaderboard.measures.coverage import COUNT_RANGE
from leaderboard.measures.judged import FloatArray, IntArray, Judged, Judgments, positions, sums
from leaderboard.measures.record import (
    CUTOFF,
    GAINS,
    JUDGED_ONLY,
    Gains,
    Measure,
    Parameter,
    document_gains,
    ideal_order,
)

HIGHEST_EXPONENT = 1000
"""2 to the power of more, or sums of it, would leave the range of doubles."""


class Form(NamedTuple):
    """One published form of discounted gain: what a grade gains, and what a rank divides it by."""

    exponential: bool
    discount: Callable[[int], float]
    text: str


FORMS = {
    "log2": Form(False, lambda rank: math.log2(rank + 1), "grade / log2(i + 1)"),
    "exp-log2": Form(True, lambda rank: math.log2(rank + 1), "(2^grade − 1) / log2(i + 1)"),
    "exp-ln": Form(True, lambda rank: math.log(rank + 1), "(2^grade − 1) / ln(i + 1)"),
    "exp-log10": Form(True, lambda rank: math.log10(rank + 1), "(2^grade − 1) / log10(i + 1)"),
    "jk": Form(False, lambda rank: max(1.0, math.log2(rank)), "grade / max(1, log2 i)"),
    "jk-log10": Form(False, lambda rank: max(1.0, math.log10(rank)), "grade / max(1, log10 i)"),
}


def gained(gain: FloatArray, dcg: str) -> FloatArray:
    """Value of gains of 0 or more, such as grades, in the given form, before any discount.

    >>> gained(np.array([0.0, 1.0, 3.0]), "exp-log2")
    array([0., 1., 7.])
    """
    if not FORMS[dcg].exponential:
        return gain
    values, place = np.unique(gain, return_inverse=True)
    # Python's power and not numpy's: the same bits on every processor.
    return np.array([2.0 ** min(value, HIGHEST_EXPONENT) - 1.0 for value in values.tolist()])[place]


def worth(judgments: Judgments, gains: Gains | None, dcg: str) -> FloatArray:
    """Value of every judged document in the given form before any discount, (documents,)."""
    return judgments.keep(("worth", gains, dcg), lambda: gained(document_gains(judgments, gains), dcg))


def discounts(rank: IntArray, dcg: str) -> FloatArray:
    """Divisors of a gain at every rank in the given form.

    >>> discounts(np.array([1, 2, 4]), "jk")
    array([1., 1., 2.])
    """
    return _table(dcg, int(rank.max(initial=0)).bit_length())[rank]


def ideal_of_judged(judgments: Judgments, gains: Gains | None, dcg: str, cutoff: int | None) -> FloatArray:
    """The largest discounted gain the top cutoff ranks (None: all) of each topic can have."""
    if gains is None and dcg == "log2":
        return judgments.ideal_dcg(cutoff)

    def make() -> FloatArray:
        order = ideal_order(judgments, gains)
        values = worth(judgments, gains, dcg)[order]
        return _in_order(judgments.topic[order], values, len(judgments), dcg, cutoff)

    return judgments.keep(("ideal", gains, dcg, cutoff), make)


def ideal_of_retrieved(judged: Judged, gains: Gains | None, dcg: str, cutoff: int | None) -> FloatArray:
    """The largest discounted gain an order of the retrieved documents of each topic can have."""
    values = worth(judged.judgments, gains, dcg)[judged.document]
    order = np.lexsort((-values, judged.topic))
    return _in_order(judged.topic, values[order], len(judged.judgments), dcg, cutoff)


def _in_order(topic: IntArray, values: FloatArray, topics: int, dcg: str, cutoff: int | None) -> FloatArray:
    rank = positions(np.searchsorted(topic, np.arange(topics)), topic)
    if cutoff is not None:
        counted = rank <= cutoff
        topic, values, rank = topic[counted], values[counted], rank[counted]
    return sums(topic, values / discounts(rank, dcg), topics)


def cumulated_gain(judged: Judged, *, cutoff: int | None = None) -> FloatArray:
    """The sum of the grades of the retrieved documents, float64 (topics,), 0 or more.

    Negative grades count 0. Source: Järvelin and Kekäläinen 2002.

    >>> from leaderboard.measures.richer_examples import judged
    >>> cumulated_gain(judged({1: 3, 2: 0, 3: 2})), cumulated_gain(judged({1: 3, 2: 0, 3: 2}), cutoff=2)
    (array([5.]), array([3.]))
    """
    counted = judged.grade > 0 if cutoff is None else (judged.grade > 0) & (judged.rank <= cutoff)
    return judged.totals(judged.topic[counted], judged.grade[counted])


def discounted_gain(
    judged: Judged, *, dcg: str = "log2", gains: Gains | None = None, cutoff: int | None = None
) -> FloatArray:
    """The sum of the gains of the retrieved documents, discounted by rank, float64 (topics,), 0 or more.

    dcg is the form: grade / log2(i + 1) for `log2`, (2^grade - 1) over the logarithm of i + 1 named in
    `exp-log2`, `exp-ln` and `exp-log10`, and grade / max(1, log i) for `jk` (base 2) and `jk-log10`,
    which do not discount down to rank 2 or 10. gains says what counts as a grade's gain instead of the
    grade, before the form's power of 2. Negative grades gain 0.
    Source: Järvelin and Kekäläinen 2002 for `jk`; Burges et al. 2005 for the exponential gain.

    Grade 3 at rank 1, grade 2 at rank 2: 3 + 2/log2(3), and without a discount 3 + 2.

    >>> from leaderboard.measures.richer_examples import judged
    >>> discounted_gain(judged({1: 3, 2: 2})).round(6), discounted_gain(judged({1: 3, 2: 2}), dcg="jk")
    (array([4.26186]), array([5.]))
    """
    values = worth(judged.judgments, gains, dcg)[judged.document]
    counted = values > 0 if cutoff is None else (values > 0) & (judged.rank <= cutoff)
    return judged.totals(judged.topic[counted], values[counted] / discounts(judged.rank[counted], dcg))


def ideal_gain(
    judged: Judged, *, dcg: str = "log2", gains: Gains | None = None, cutoff: int | None = None
) -> FloatArray:
    """The discounted gain of all judged documents in descending order of grade, float64 (topics,).

    0 or more; the same for every run. dcg is the form and gains are the gains, as for DCG.
    Source: Järvelin and Kekäläinen 2002.

    Grades 3 and 2, retrieved in any order: 3 + 2.

    >>> from leaderboard.measures.richer_examples import judged
    >>> ideal_gain(judged({5: 2}, missed=[3]), dcg="jk")
    array([5.])
    """
    return ideal_of_judged(judged.judgments, gains, dcg, cutoff).copy()


@cache
def _table(dcg: str, bits: int) -> FloatArray:
    table = np.array([1.0, *(FORMS[dcg].discount(rank) for rank in range(1, 1 << bits))])
    table.flags.writeable = False
    return table


FORM = Parameter(
    "dcg",
    "choice",
    "The form: the gain of a grade and the discount of a rank.",
    default="log2",
    choices=tuple(FORMS),
)
_PAPER = "Järvelin and Kekäläinen, Cumulated Gain-Based Evaluation of IR Techniques, TOIS 20(4), 2002"
FORMULAS = "; ".join(f"{name}: {form.text}" for name, form in FORMS.items())

CG = Measure(
    name="CG",
    title="Cumulated gain",
    formula="Σ over ranks i ≤ k of max(grade, 0)",
    citation=_PAPER,
    compute=cumulated_gain,
    parameters=(CUTOFF, JUDGED_ONLY),
    range=COUNT_RANGE,
    needs=frozenset({"graded"}),
    note="The order of the documents above the cut-off does not matter.",
)

DCG = Measure(
    name="DCG",
    title="Discounted cumulated gain",
    formula=f"Σ over ranks i ≤ k of the term of the form, 0 for grades below 1. {FORMULAS}",
    citation=(
        f"{_PAPER}; exponential gain: Burges, Shaked, Renshaw, Lazier, Deeds, Hamilton and Hullender, "
        "Learning to Rank Using Gradient Descent, ICML 2005"
    ),
    compute=discounted_gain,
    parameters=(FORM, GAINS, CUTOFF, JUDGED_ONLY),
    range=COUNT_RANGE,
    needs=frozenset({"graded"}),
    note=(
        "Texts that write DCG without naming gain and logarithm mean one of these. trec_eval and "
        "scikit-learn have log2, gdeval exp-ln. The discounted gain of one rank is DCG at it less DCG above "
        f"it. Grades above {HIGHEST_EXPONENT} gain as much as that in the exponential forms."
    ),
)

IDCG = Measure(
    name="IDCG",
    title="Ideal discounted cumulated gain",
    formula="DCG@k of the judged documents in descending order of grade",
    citation=_PAPER,
    compute=ideal_gain,
    parameters=(FORM, GAINS, CUTOFF),
    direction="none",
    range=COUNT_RANGE,
    needs=frozenset({"graded"}),
)
