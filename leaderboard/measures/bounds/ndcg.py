"""Lowest and highest possible nDCG if the unjudged documents were judged.

Gain is a sum of layers, one for each grade: what the grade gains more than the one below, counted for all
documents of at least that grade. In both bounds a layer counts some of the unjudged documents of the
ranking, either the lowest or the highest, and the ideal depends on their number alone.
"""

from typing import NamedTuple

import numpy as np

from leaderboard.measures.bounds.scores import EXTREME, PAPER
from leaderboard.measures.bounds.unjudged import Gaps, first_rise, gaps
from leaderboard.measures.discounted_gain import discounted_gain, discounts, gained, ideal_of_judged
from leaderboard.measures.judged import FloatArray, IntArray, Judged, Judgments, ratio
from leaderboard.measures.record import CUTOFF, Measure, Parameter


def lowest_ndcg(judged: Judged, *, max_rel: int, dcg: str = "log2", cutoff: int | None = None) -> FloatArray:
    """The smallest nDCG possible with the unjudged documents, float64 (topics,), from 0 to 1.

    Each document of the ranking that is not in the qrels, and each of grade -1 retrieved or not, is
    taken to have any grade of 0 to max_rel, whichever way the score gets lowest.

    Grade 1 at rank 1, then one not judged. Should that have grade 2: (1 + 2/log2(3)) / (2 + 1/log2(3)).

    >>> from leaderboard.measures.richer_examples import judged
    >>> lowest_ndcg(judged({1: 1}, retrieved=2), max_rel=2).round(6)
    array([0.859719])
    """
    rankings = gaps(judged, cutoff)
    scale = _scale(judged.judgments, rankings, max_rel, dcg, cutoff)
    own = discounted_gain(judged, dcg=dcg, cutoff=cutoff)
    discounted = rankings.total(1.0 / discounts(rankings.rank, dcg))
    all_ranks = scale.best[rankings.depth] - discounted.whole

    def value(number: IntArray) -> FloatArray:
        """The score with max_rel for this number of unjudged documents, from the lowest rank up, 0 above."""
        above = np.clip(rankings.rank_of(rankings.unjudged - number + 1) - 1, 0, rankings.depth)
        weight = all_ranks - (scale.best[above] - discounted.first(rankings.above(above)))
        gain = own + np.where(number > 0, scale.steps.sum() * weight, 0.0)
        return ratio(gain, scale.ideal(np.tile(number + rankings.outside, (max_rel, 1))))

    # The gain is linear and the ideal convex in the gains, so the worst are grades of 0 and max_rel only.
    # Of equally many max_rel the lowest ranks are worst; each further one, being higher up, adds more to
    # the gain and less to the ideal than the one before, so the score falls first and then rises.
    return np.minimum(value(first_rise(value, rankings.unjudged)), value(np.zeros_like(rankings.unjudged)))


def highest_ndcg(judged: Judged, *, max_rel: int, dcg: str = "log2", cutoff: int | None = None) -> FloatArray:
    """The largest nDCG possible with the unjudged documents, float64 (topics,), from 0 to 1.

    Each document of the ranking that is not in the qrels, and each of grade -1 retrieved or not, is
    taken to have any grade of 0 to max_rel, whichever way the score gets highest.

    Grade 0 at rank 1, then one not judged, grade 1 at rank 3. As it is 1/2; should the one not judged
    have grade 1 too: (1/log2(3) + 1/2) / (1 + 1/log2(3)).

    >>> from leaderboard.measures.richer_examples import judged
    >>> highest_ndcg(judged({1: 0, 3: 1}), max_rel=1).round(6)
    array([0.693426])
    """
    rankings = gaps(judged, cutoff)
    scale = _scale(judged.judgments, rankings, max_rel, dcg, cutoff)
    own = discounted_gain(judged, dcg=dcg, cutoff=cutoff)
    ends = _ends(rankings, scale, dcg)
    best = ratio(own, ideal_of_judged(judged.judgments, None, dcg, cutoff))
    while True:
        # Dinkelbach: the grades best for gain - best · ideal give a higher score, until none do.
        chosen = np.stack([_best_end(ends, scale, best, layer) for layer in range(max_rel)])
        gain = own + np.cumsum(scale.steps[:, None] * ends.weight[chosen], axis=0)[-1]
        better = ratio(gain, scale.ideal(ends.number[chosen]))
        if not bool(np.any(better > best)):
            return best
        best = np.maximum(best, better)


class _Scale(NamedTuple):
    """Gain as layers: a grade gains the sum of the steps up to it.

    steps: (max_rel,) what each grade gains more than the one below; judged: (max_rel, topics) judged
    documents of at least each grade; best: sum of the discounts of the first n ranks of an ideal
    ranking, n from 0 on; fixed: (topics,) the ideal gain of the judged documents.
    """

    steps: FloatArray
    judged: IntArray
    best: FloatArray
    fixed: FloatArray

    def ideal(self, more: IntArray) -> FloatArray:
        """The ideal gain with this many more documents of at least each grade, (max_rel, topics)."""
        gain = self.steps[:, None] * (self.best[self.judged + more] - self.best[self.judged])
        total: FloatArray = self.fixed + np.cumsum(gain, axis=0)[-1]
        return total


class _Ends(NamedTuple):
    """Places for the unjudged documents that count in a layer: above all, at a gap's end, at the last.

    topic; number: how many documents count; weight: the sum of 1 / discount at their ranks; each (ends,).
    """

    topic: IntArray
    number: IntArray
    weight: FloatArray


def _scale(judgments: Judgments, rankings: Gaps, max_rel: int, dcg: str, cutoff: int | None) -> _Scale:
    steps = np.diff(gained(np.arange(max_rel + 1.0), dcg))
    judged = np.stack([judgments.relevant(grade) for grade in range(1, max_rel + 1)])
    longest = int(np.maximum(judged[0] + rankings.unjudged + rankings.outside, rankings.depth).max(initial=0))
    rank = np.arange(1, longest + 1)
    weight = 1.0 / discounts(rank, dcg)
    if cutoff is not None:
        weight[cutoff:] = 0.0
    best = np.concatenate(([0.0], np.cumsum(weight)))
    return _Scale(steps, judged, best, ideal_of_judged(judgments, None, dcg, cutoff))


def _ends(rankings: Gaps, scale: _Scale, dcg: str) -> _Ends:
    """All ends worth trying in search of the highest score.

    A further document adds weight at its rank in the run and at the end of its layer in the ideal. If the
    ideal's place is the lower one, it pays, as no score is above 1. If it is the higher one, the ideal's
    weights fall faster down a gap than the run's, so it pays from some document on or not at all. Either
    way the best end is one of the gap's.
    """
    topics = np.arange(len(rankings.depth))
    discounted = rankings.total(1.0 / discounts(rankings.rank, dcg))
    none = np.zeros_like(topics)
    within = scale.best[rankings.rank - 1] - discounted.above(rankings.topic)
    return _Ends(
        np.concatenate((topics, rankings.topic, topics)),
        np.concatenate((none, rankings.unjudged_above, rankings.unjudged)),
        np.concatenate((none, within, scale.best[rankings.depth] - discounted.whole)),
    )


def _best_end(ends: _Ends, scale: _Scale, score: FloatArray, layer: int) -> IntArray:
    """The end with the largest weight - score · (growth of the ideal) in each topic, (topics,)."""
    judged = scale.judged[layer][ends.topic]
    worth = ends.weight - score[ends.topic] * (scale.best[judged + ends.number] - scale.best[judged])
    most = np.full(len(score), -np.inf)
    np.maximum.at(most, ends.topic, worth)
    reached = np.flatnonzero(worth == most[ends.topic])
    chosen = np.zeros(len(score), dtype=np.int64)
    chosen[ends.topic[reached]] = reached
    return chosen


HIGHEST_GRADE = Parameter(
    "max_rel", "integer", "The highest grade an unjudged document may have.", 1, 100, required=True
)
FORM = Parameter(
    "dcg",
    "choice",
    "The gain: the grade itself, or 2^grade − 1.",
    default="log2",
    choices=("log2", "exp-log2"),
)

NDCG_MIN = Measure(
    name="nDCGmin",
    title="Lowest possible nDCG",
    formula="the smallest nDCG@k over all ways to give the unjudged documents grades of 0 to max_rel",
    citation=PAPER,
    compute=lowest_ndcg,
    parameters=(HIGHEST_GRADE, FORM, CUTOFF),
    direction="none",
    needs=frozenset({"graded"}),
    note=EXTREME,
)

NDCG_MAX = Measure(
    name="nDCGmax",
    title="Highest possible nDCG",
    formula="the largest nDCG@k over all ways to give the unjudged documents grades of 0 to max_rel",
    citation=PAPER,
    compute=highest_ndcg,
    parameters=(HIGHEST_GRADE, FORM, CUTOFF),
    direction="none",
    needs=frozenset({"graded"}),
    note=EXTREME,
)
