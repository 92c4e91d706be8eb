"""Compatibility: similarity to the ideal ranking that is closest to the run."""

from functools import lru_cache

import numpy as np

from leaderboard.measures.judged import FloatArray, IntArray, Judged, Judgments, ratio
from leaderboard.measures.record import JUDGED_ONLY, Measure, Parameter


def compatibility(
    judged: Judged, *, p: float = 0.95, depth: int = 1000, normalize: bool = True
) -> FloatArray:
    """Rank-biased overlap of the ranking with its ideal, float64 (topics,), from 0 to 1.

    The ideal has the documents of positive grade by descending grade, those of one grade in the
    ranking's own order, those not retrieved last. The overlap is cut at depth ranks and divided by that
    of the ideal with itself, unless normalize is False. 0 where no document has a positive grade.
    Source: Clarke, Smucker and Vtyurina 2020; Clarke, Vtyurina and Smucker 2021.

    One relevant document, at rank 2 of 2: overlaps of 0 and 1/2 with weights 1 and 1/2, over 1 and 1/2.

    >>> from leaderboard.measures.richer_examples import judged
    >>> compatibility(judged({2: 1}), p=0.5, depth=2)
    array([0.2])
    """
    gaining = judged.grade > 0
    topic, document, rank = judged.topic[gaining], judged.document[gaining], judged.rank[gaining]
    ideal_rank = _places(judged.judgments)[document] + _order_within_grade(topic, judged.grade[gaining])
    met = np.maximum(rank, ideal_rank)
    shared = met <= depth
    # A document counts in the overlap of every depth from where both rankings have it.
    weight = _weights_from(p, depth)
    scores = judged.totals(topic[shared], weight[met[shared]])
    if not normalize:
        whole: FloatArray = np.cumsum(_weights(p, depth))[-1:]
        return scores / whole
    best = np.concatenate(([0.0], np.cumsum(weight[1:])))
    return ratio(scores, best[np.minimum(judged.judgments.relevant(1), depth)])


def _places(judgments: Judgments) -> IntArray:
    """The number of documents of the same topic with a higher grade, (documents,)."""

    def make() -> IntArray:
        order = np.lexsort((-judgments.grades, judgments.topic))
        places = np.empty(len(order), dtype=np.int64)
        first = _first_of_group(judgments.topic[order], judgments.grades[order])
        places[order] = first - judgments.starts[judgments.topic[order]]
        return places

    return judgments.keep("documents of higher grade", make)


def _order_within_grade(topic: IntArray, grade: IntArray) -> IntArray:
    """The 1-based place of every hit among those of its topic and grade, in rank order."""
    order = np.lexsort((-grade, topic))
    nth = np.empty(len(order), dtype=np.int64)
    nth[order] = np.arange(1, len(order) + 1) - _first_of_group(topic[order], grade[order])
    return nth


def _first_of_group(topic: IntArray, grade: IntArray) -> IntArray:
    """The start of the group of equal topic and grade of each element of sorted arrays."""
    new = np.ones(len(topic), dtype=np.bool_)
    new[1:] = (topic[1:] != topic[:-1]) | (grade[1:] != grade[:-1])
    return np.maximum.accumulate(np.where(new, np.arange(len(topic)), 0))


def _weights(p: float, depth: int) -> FloatArray:
    return np.array([p**rank for rank in range(depth)])


@lru_cache(maxsize=32)
def _weights_from(p: float, depth: int) -> FloatArray:
    """At each rank from 1 to depth, the sum of p^(d - 1) / d from there down to depth; 0 at 0."""
    share = _weights(p, depth) / np.arange(1, depth + 1)
    sums = np.concatenate(([0.0], np.cumsum(share[::-1])[::-1]))
    sums.flags.writeable = False
    return sums


COMPAT = Measure(
    name="Compat",
    title="Compatibility (maximum similarity to an ideal ranking)",
    formula=(
        "RBO(ranking, ideal) / RBO(ideal, ideal), RBO = Σ over d ≤ depth of p^(d − 1) · (documents both have "
        "in their top d) / d, divided by Σ over d ≤ depth of p^(d − 1)"
    ),
    citation=(
        "Clarke, Smucker and Vtyurina, Offline Evaluation by Maximum Similarity to an Ideal Ranking, "
        "CIKM 2020; divided by RBO(ideal, ideal) since Clarke, Vtyurina and Smucker, Assessing Top-k "
        "Preferences, TOIS 39(3), 2021"
    ),
    compute=compatibility,
    parameters=(
        Parameter("p", "number", "The weight of a depth relative to the depth above.", 0.01, 0.99, 0.95),
        Parameter("depth", "integer", "The number of ranks compared.", 1, 100_000, 1000),
        Parameter("normalize", "boolean", "Divide by the value of the ideal ranking.", default=True),
        JUDGED_ONLY,
    ),
    needs=frozenset({"graded"}),
    note=(
        "This is the authors' form, down to depth 1,000 whatever the length of the rankings; only a run's "
        "ties are ordered by descending docno as in trec_eval, by the authors ascending. ir_measures "
        "stops at the end of the longer of both rankings and, in the ideal, puts documents that were not "
        "retrieved above those with a negative score, so its numbers differ. Grades can be levels of "
        "preference."
    ),
)
