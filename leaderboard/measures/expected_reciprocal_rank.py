"""Expected reciprocal rank and its normalised form."""

import numpy as np

from leaderboard.measures.judged import FloatArray, IntArray, Judged, positions, ratio, sums
from leaderboard.measures.record import CUTOFF, JUDGED_ONLY, Measure, Parameter
from leaderboard.measures.running import before, bounds_of, running


def expected_reciprocal_rank(judged: Judged, *, max_rel: int = 4, cutoff: int | None = None) -> FloatArray:
    """The expected value of 1 / (rank where the reader stops, satisfied), float64 (topics,), below 1.

    A document of grade g satisfies a reader who gets to it with probability (2^g - 1) / 2^max_rel,
    a grade above max_rel as max_rel does, one below 1 never. The scale is the same for all topics.
    Source: Chapelle et al. 2009; gdeval `err@k` with max_rel = 4.

    On a scale to 1 a relevant document satisfies every second reader. At ranks 1 and 3:
    1/2 · 1 + (1 - 1/2) · 1/2 · 1/3.

    >>> from leaderboard.measures.richer_examples import judged
    >>> expected_reciprocal_rank(judged({1: 1, 3: 1}), max_rel=1)
    array([0.58333333])
    """
    gaining = judged.grade > 0
    if cutoff is not None:
        gaining &= judged.rank <= cutoff
    topic = judged.topic[gaining]
    return _expected(topic, judged.rank[gaining], judged.grade[gaining], max_rel, len(judged.judgments))


def normalised_err(judged: Judged, *, max_rel: int = 4, cutoff: int | None = None) -> FloatArray:
    """Expected reciprocal rank over that of the best possible ranking, float64 (topics,), from 0 to 1.

    The best ranking has all judged documents in descending order of grade. 0 where no document has a
    positive grade. Source: Sakai and Song 2011; NTCIREVAL `nERR`.

    On a scale to 1, a relevant document at rank 2 and one missed: 1/4 over 1/2 + 1/4 · 1/2.

    >>> from leaderboard.measures.richer_examples import judged
    >>> normalised_err(judged({2: 1}, missed=[1]), max_rel=1)
    array([0.4])
    """
    judgments = judged.judgments

    def ideal() -> FloatArray:
        rank = positions(judgments.starts, judgments.topic)
        gaining = (
            judgments.descending > 0 if cutoff is None else (judgments.descending > 0) & (rank <= cutoff)
        )
        grade = judgments.descending[gaining]
        return _expected(judgments.topic[gaining], rank[gaining], grade, max_rel, len(judgments))

    err = expected_reciprocal_rank(judged, max_rel=max_rel, cutoff=cutoff)
    return ratio(err, judgments.keep(("ideal ERR", max_rel, cutoff), ideal))


def _expected(topic: IntArray, rank: IntArray, grade: IntArray, max_rel: int, topics: int) -> FloatArray:
    satisfied = (np.ldexp(1.0, np.minimum(grade, max_rel)) - 1.0) / 2.0**max_rel
    starts = bounds_of(topic, topics)
    reached = before(starts, running(np.multiply, starts, 1.0 - satisfied), 1.0)
    return sums(topic, satisfied * reached / rank, topics)


HIGHEST_GRADE = Parameter(
    "max_rel", "integer", "The highest grade of the scale; higher ones count as this.", 1, 1000, default=4
)

ERR = Measure(
    name="ERR",
    title="Expected reciprocal rank",
    formula=(
        "Σ over ranks i ≤ k of 1/i · s(i) · Π over j < i of (1 − s(j)), "
        "s(i) = (2^g − 1) / 2^max_rel for grade g at rank i"
    ),
    citation=(
        "Chapelle, Metzler, Zhang and Grinspan, Expected Reciprocal Rank for Graded Relevance, CIKM 2009"
    ),
    compute=expected_reciprocal_rank,
    parameters=(HIGHEST_GRADE, CUTOFF, JUDGED_ONLY),
    needs=frozenset({"graded"}),
    note=(
        "The default scale is that of gdeval, 0 to 4 for any judgments: those of 0 to 3 never get "
        "near 1 unless max_rel is set to 3. gdeval stops at a grade above 4, which counts as max_rel here; "
        "it prints five decimals and leaves topics without a positive grade out of its mean."
    ),
)

NERR = Measure(
    name="nERR",
    title="Normalised expected reciprocal rank",
    formula="ERR@k divided by ERR@k of the judged documents in descending order of grade",
    citation=(
        "Sakai and Song, Evaluating Diversified Search Results Using Per-intent Graded Relevance, SIGIR 2011"
    ),
    compute=normalised_err,
    parameters=(HIGHEST_GRADE, CUTOFF, JUDGED_ONLY),
    needs=frozenset({"graded"}),
    note="NTCIREVAL takes gain / (highest gain + 1) as s(i): the same where its gains are 2^g − 1.",
)
