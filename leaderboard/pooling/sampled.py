"""Average precision of one ranking, estimated from a sample of the pool."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from leaderboard.pooling.candidates import FloatArray, IntArray

NOT_DRAWN = -1
"""The grade of a document of a stratum that was not drawn."""
OUTSIDE = -1
"""In a ranking: a document that is in no stratum."""
EPSILON = 1e-5
"""What xinfAP adds where nothing judged is above, so that a share stays between 0 and 1."""


@dataclass(frozen=True, eq=False)
class Judgments:
    """One topic's sampled judgments: (documents,) the stratum from 0 and the grade of all in any stratum."""

    stratum: IntArray
    grade: IntArray

    @property
    def population(self) -> IntArray:
        """How many documents each stratum has, (strata,)."""
        return np.bincount(self.stratum)

    @property
    def drawn(self) -> IntArray:
        """How many of them were judged, (strata,)."""
        return self._count(self.grade > NOT_DRAWN)

    def relevant(self, rel: int) -> FloatArray:
        """How many relevant documents each stratum is estimated to have, (strata,)."""
        return self._count(self.grade >= rel) * self.expansion

    @property
    def expansion(self) -> FloatArray:
        """How many documents a judged one of each stratum stands for, (strata,), 0 where none was drawn."""
        zeros = np.zeros(len(self.population))
        return np.divide(self.population, self.drawn, out=zeros, where=self.drawn > 0)

    def _count(self, mask: NDArray[np.bool_]) -> IntArray:
        return np.bincount(self.stratum[mask], minlength=len(self.population))


def xinf_ap(ranking: IntArray, judgments: Judgments, *, rel: int = 1) -> float:
    """Extended inferred average precision; 0 where no relevant document was drawn.

    ranking: (retrieved,) indices into the judgments, best first, OUTSIDE for documents in no stratum. The
    precision at a relevant document at rank k is expected to be 1/k, plus for each stratum what part of
    the ranks above is of it, times the share of relevant ones among its judged ones above (with EPSILON).
    AP adds these up, each for as many documents as it stands for, over the estimated number of relevant
    ones. Equal to AP, but for EPSILON, where all strata are judged and nothing else is retrieved.
    Source: Yilmaz, Kanoulas and Aslam, A Simple and Efficient Sampling Method for Estimating AP and NDCG,
    SIGIR 2008.

    >>> judgments = Judgments(np.array([0, 0, 1, 1, 1]), np.array([1, 0, 1, 0, -1]))
    >>> round(xinf_ap(np.array([0, 1, 2]), judgments), 6)
    0.8
    """
    total = judgments.relevant(rel).sum()
    if not total:
        return 0.0
    rows = np.flatnonzero(ranking != OUTSIDE)
    rank, document = rows + 1.0, ranking[rows]
    grade, stratum = judgments.grade[document], judgments.stratum[document]
    expected = 1.0 / rank
    for number in range(len(judgments.population)):
        pooled = _before(stratum == number)
        hits = _before((stratum == number) & (grade >= rel))
        judged = _before((stratum == number) & (grade > NOT_DRAWN))
        expected += pooled / rank * (hits + EPSILON) / (judged + 2.0 * EPSILON)
    relevant = grade >= rel
    return float((judgments.expansion[stratum] * expected)[relevant].sum() / total)


def stat_ap(ranking: IntArray, judgments: Judgments, *, rel: int = 1) -> float:
    """Average precision by Horvitz-Thompson; 0 where no relevant document was drawn.

    The sum of precisions is a sum over pairs of relevant documents of 1 over the rank of the lower one,
    each divided by the probability that both were drawn; it is unbiased where every stratum has two drawn
    or one in all. That sum over the estimated number of relevant documents is the estimate, which can
    exceed 1. Ranking as in xinf_ap. Source: Aslam and Pavlu, A Practical Sampling Strategy for Efficient
    Retrieval Evaluation, technical report, Northeastern University, 2007.

    >>> judgments = Judgments(np.array([0, 0]), np.array([1, 1]))
    >>> stat_ap(np.array([0, 1]), judgments)
    1.0
    """
    total = judgments.relevant(rel).sum()
    if not total:
        return 0.0
    rows = np.flatnonzero(ranking != OUTSIDE)
    rows = rows[judgments.grade[ranking[rows]] >= rel]
    stratum = judgments.stratum[ranking[rows]]
    single, pair = judgments.expansion, _both(judgments)
    above = np.zeros(len(single))
    precisions = 0.0
    for rank, own in zip((rows + 1).tolist(), stratum.tolist(), strict=True):
        others = single * single[own]
        others[own] = pair[own]
        precisions += (single[own] + above @ others) / rank
        above[own] += 1
    return float(precisions / total)


def _both(judgments: Judgments) -> FloatArray:
    """1 over the probability that two documents of a stratum are both drawn, (strata,)."""
    size, drawn = judgments.population.astype(np.float64), judgments.drawn.astype(np.float64)
    pairs = drawn * (drawn - 1.0)
    return np.divide(size * (size - 1.0), pairs, out=np.zeros_like(size), where=pairs > 0)


def _before(mask: NDArray[np.bool_]) -> IntArray:
    """How many of those above each row are wanted."""
    return np.cumsum(mask) - mask
