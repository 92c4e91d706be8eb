"""A run's lowest, expected and highest score over all orders of its ties.

trec_eval breaks ties by docno, descending: no worse a choice than another, but a choice.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import cast

import numpy as np

from leaderboard.measures.binding import BoundMeasure
from leaderboard.measures.discounted_gain import worth
from leaderboard.measures.grammar import parse
from leaderboard.measures.judged import FloatArray, Judged, ratio
from leaderboard.measures.record import JUDGED_ONLY, Gains
from leaderboard.measures.ties.expectations import EXPECTED
from leaderboard.measures.ties.rankings import TieCounts, Tied, TieGroups, counts, tie_groups, tied

__all__ = ["TieCounts", "TieEffect", "TieGroups", "Tied", "counts", "effect", "tie_groups", "tied"]

SAMPLES = 100
"""Orders drawn for a measure without a closed form."""
SEED = 2008

UNORDERED = frozenset({
    "SetP", "SetR", "SetF", "SetDice", "SetAP", "SetFallout", "SetSpecificity", "SetAccuracy",
    "FOfMeans", "MicroP", "MicroR", "MicroF", "Utility", "IDCG", "PCeiling", "NumQ", "NumRet", "NumRel",
    "NumRelRet", "NumNonrelJudgedRet",
})  # fmt: skip
"""Measures of what was retrieved, in any order."""


@dataclass(frozen=True, eq=False)
class TieEffect:
    """A measure's scores over all orders of equal scores; each array is float64 (topics,).

    exact: whether the numbers are those of all orders. Where they are not, expected is the mean over
    `samples` drawn orders, error its standard error, and lowest and highest are those of the drawn
    orders and of the two by grade; else error is 0.
    """

    lowest: FloatArray
    expected: FloatArray
    highest: FloatArray
    error: FloatArray
    exact: bool
    samples: int


def effect(ties: Tied, key: str, *, seed: int = SEED) -> TieEffect:
    """The effect of ties on a run's score, by name of the measure.

    Exact for precision, recall, F and success in the top k, R-precision, the break-even point, CG, DCG, nDCG,
    RBP, gRBP, RR, AP and GMAP (by topic), and for what does not depend on the order; by 100 drawn orders, the
    same for the same seed, for all others. Measures of the documents' text cannot be had. Raises
    UnknownMeasure, MissingInput as the measure does, and ValueError for one whose scores are not numbers.
    Source: McSherry and Najork 2008.

    A relevant document shares ranks 1 to 3 with two others: its precision is 1, 1/2 or 1/3.

    >>> from leaderboard.measures.richer_examples import judged
    >>> groups = tie_groups(np.zeros(3, np.int64), np.array([1.0, 1.0, 1.0]))
    >>> ap = effect(tied(judged({2: 1}, retrieved=3), groups), "AP")
    >>> ap.lowest.round(4), ap.expected.round(4), ap.highest.round(4)
    (array([0.3333]), array([0.6111]), array([1.]))
    """
    bound = parse(key)
    if bound.measure.text:
        raise ValueError(f"{bound.key} gives no numbers that ties could move")
    if bound.measure.name in UNORDERED or not len(ties.groups.topic):
        scores = bound.compute(ties.judged)
        return TieEffect(scores, scores, scores, np.zeros_like(scores), exact=True, samples=0)
    if bound.measure.name in EXPECTED:
        return _exact(ties, bound)
    return _sampled(ties, bound, seed)


def _exact(ties: Tied, bound: BoundMeasure) -> TieEffect:
    seen = ties.condensed if bound.params.get(JUDGED_ONLY.name) else ties
    given = {name: value for name, value in bound.params.items() if name != JUDGED_ONLY.name}
    # Only custom gains can put the grades in another order.
    gains = cast("Gains | None", given.get("gains"))
    value = None if gains is None else worth(seen.judged.judgments, gains, str(given["dcg"]))
    best = seen.best(value)
    lowest, highest = bound.compute(seen.worst(value)), bound.compute(best)
    expectation = EXPECTED[bound.measure.name]
    # Both are the score up to the same factor: that of the best order is known, as it has no ties.
    sure = Tied(best, ties.groups, best.rank, np.ones_like(best.rank))
    share = ratio(expectation(seen, **given), expectation(sure, **given))
    # Where no order matters the last bit is to be that of the score.
    expected = np.where(lowest == highest, highest, np.clip(highest * share, lowest, highest))
    return TieEffect(lowest, expected, highest, np.zeros_like(expected), exact=True, samples=0)


def _sampled(ties: Tied, bound: BoundMeasure, seed: int) -> TieEffect:
    drawn = _scores(bound, ties.drawn(SAMPLES, seed))
    ends = _scores(bound, (ties.worst(), ties.best()))
    lowest, highest = (pick((pick(drawn, axis=0), pick(ends, axis=0)), axis=0) for pick in (np.min, np.max))
    error = np.where(lowest == highest, 0.0, drawn.std(axis=0, ddof=1) / np.sqrt(SAMPLES))
    expected = np.where(lowest == highest, highest, np.clip(drawn.mean(axis=0), lowest, highest))
    return TieEffect(lowest, expected, highest, error, exact=False, samples=SAMPLES)


def _scores(bound: BoundMeasure, orders: Iterable[Judged]) -> FloatArray:
    return np.array([bound.compute(order) for order in orders])
