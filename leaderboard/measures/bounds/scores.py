"""Lowest and highest possible scores if the unjudged documents were judged."""

from typing import NamedTuple

import numpy as np

from leaderboard.measures.average_precision import average_precision
from leaderboard.measures.bounds.unjudged import Gaps, Prefix, first_rise, gaps
from leaderboard.measures.curves import harmonic
from leaderboard.measures.judged import FloatArray, IntArray, Judged, ratio
from leaderboard.measures.record import CUTOFF, CUTOFF_REQUIRED, REL, Measure
from leaderboard.measures.running import running


def highest_precision(judged: Judged, *, rel: int = 1, cutoff: int) -> FloatArray:
    """Precision of the top ranks if all their unjudged documents were relevant, (topics,), 0 to 1.

    float64. Unjudged are documents not in the qrels and those of grade -1.

    One relevant and one non-relevant document, one not judged, two ranks empty: (1 + 1) / 5.

    >>> from leaderboard.measures.richer_examples import judged
    >>> highest_precision(judged({1: 1, 3: 0}), cutoff=5)
    array([0.4])
    """
    possible: FloatArray = (judged.relevant_count(rel, cutoff) + gaps(judged, cutoff).unjudged) / cutoff
    return possible


def highest_reciprocal_rank(judged: Judged, *, rel: int = 1, cutoff: int | None = None) -> FloatArray:
    """One over the rank of the first relevant or unjudged document, float64 (topics,), 0 to 1.

    Unjudged are documents not in the qrels and those of grade -1. 0 if neither exists.

    >>> from leaderboard.measures.richer_examples import judged
    >>> highest_reciprocal_rank(judged({1: 0, 2: -1, 5: 1}))
    array([0.5])
    """
    rankings = gaps(judged, cutoff)
    possible = np.full(len(rankings.depth), np.inf)
    hits = judged.relevant(rel, cutoff)
    first = hits.nth == 1
    possible[hits.topic[first]] = hits.rank[first]
    unjudged = np.where(rankings.unjudged > 0, rankings.rank_of(np.ones_like(rankings.depth)), np.inf)
    scores: FloatArray = 1.0 / np.minimum(possible, unjudged)
    return scores


def lowest_average_precision(judged: Judged, *, rel: int = 1, cutoff: int | None = None) -> FloatArray:
    """The smallest average precision possible with the unjudged documents, float64 (topics,), 0 to 1.

    Each document of the ranking that is not in the qrels, and each of grade -1 retrieved or not, is
    taken as relevant or not, whichever way the score gets lowest: a relevant document far down adds
    less to the sum than its share of the divisor, so that taking all as not relevant is not the worst.

    Relevant at rank 1, unjudged at 2 and 10. As 10 is relevant: (1 + 2/10) / 2; with 2 it would be more.

    >>> from leaderboard.measures.richer_examples import judged
    >>> lowest_average_precision(judged({1: 1, **dict.fromkeys(range(3, 10), 0)}, retrieved=10))
    array([0.6])
    """
    rankings = gaps(judged, cutoff)
    terms = _terms(rankings, rel)
    divisor = judged.judgments.relevant(rel) + rankings.outside
    whole, whole_inverse = terms.all_relevant(rankings, rankings.depth)
    nothing = ratio(judged.totals(rankings.topic, terms.precision), divisor)

    def value(number: IntArray) -> FloatArray:
        """The score with this number of unjudged documents, from the lowest rank up, relevant."""
        above = np.maximum(rankings.rank_of(rankings.unjudged - number + 1) - 1, 0)
        above = np.minimum(above, rankings.depth)
        least, inverse = terms.all_relevant(rankings, above)
        total = terms.precisions.first(rankings.above(above)) + whole - least
        total -= (rankings.unjudged - number) * (whole_inverse - inverse)
        return np.where(number > 0, ratio(total, divisor + number), nothing)

    # Of equally many relevant ones the lowest are worst; each further one, being higher up, adds more
    # than the one before, so the score falls first and then rises.
    return np.minimum(value(first_rise(value, rankings.unjudged)), nothing)


def highest_average_precision(judged: Judged, *, rel: int = 1, cutoff: int | None = None) -> FloatArray:
    """The largest average precision possible with the unjudged documents, float64 (topics,), 0 to 1.

    Each document of the ranking that is not in the qrels, and each of grade -1 retrieved or not, is
    taken as relevant or not, whichever way the score gets highest.

    Not relevant at rank 1, unjudged at 2, relevant at 3. As it is 1/3; as 2 is relevant (1/2 + 2/3) / 2.

    >>> from leaderboard.measures.richer_examples import judged
    >>> highest_average_precision(judged({1: 0, 3: 1}))
    array([0.58333333])
    """
    rankings = gaps(judged, cutoff)
    terms = _terms(rankings, rel)
    relevant = judged.judgments.relevant(rel)
    best = average_precision(judged, rel=rel, cutoff=cutoff)
    # Of equally many relevant ones the highest are best. Down a gap each further one adds more than the
    # one before, so the best place to end is the end of a gap: just above a judged hit, or the last rank.
    whole, _ = terms.all_relevant(rankings, rankings.depth)
    best = np.maximum(best, np.where(rankings.unjudged > 0, ratio(whole, relevant + rankings.unjudged), 0.0))
    topic = rankings.topic
    above, _ = _all_relevant(
        rankings.rank - 1,
        terms.others.above(topic),
        terms.other_inverses.above(topic),
        terms.inverses_at_others.above(topic),
    )
    above += terms.precisions.whole[topic] - terms.precisions.above(topic)
    above += rankings.unjudged_above * (terms.inverses.whole[topic] - terms.inverses.above(topic))
    ends = rankings.unjudged_above > 0
    score = above[ends] / (relevant[topic] + rankings.unjudged_above)[ends]
    np.maximum.at(best, topic[ends], score)
    return best


class _Terms(NamedTuple):
    """The terms of the sum in average precision.

    precision: (hits,) nth / rank of each relevant hit, 0 for others, and precisions their sums;
    inverses: sums of 1 / rank over relevant hits; others: counts of judged hits that are not relevant;
    other_inverses: sums of 1 / rank over these; inverses_at_others: sums over these of the sum of
    1 / rank over all ranks down to each that hold no such hit.
    """

    precision: FloatArray
    precisions: Prefix
    inverses: Prefix
    others: Prefix
    other_inverses: Prefix
    inverses_at_others: Prefix

    def all_relevant(self, rankings: Gaps, rank: IntArray) -> tuple[FloatArray, FloatArray]:
        """Result of _all_relevant for one rank of each topic, 0 included."""
        hits = rankings.above(rank)
        return _all_relevant(
            rank,
            self.others.first(hits),
            self.other_inverses.first(hits),
            self.inverses_at_others.first(hits),
        )


def _all_relevant(
    rank: IntArray, others: FloatArray, other_inverses: FloatArray, inverses_at_others: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """The sum of precisions, and of 1 / rank, over all ranks from 1 to rank without a non-relevant hit.

    Precision at such a rank i is 1 - (non-relevant hits above) / i, as every other document counts as
    relevant; the second terms are added up non-relevant hit by non-relevant hit.
    """
    inverses: FloatArray = harmonic(rank) - other_inverses
    sums: FloatArray = rank - others - (others * inverses - inverses_at_others)
    return sums, inverses


def _terms(rankings: Gaps, rel: int) -> _Terms:
    relevant = rankings.grade >= rel
    nth = running(np.add, rankings.starts, relevant.astype(np.float64))
    precision = np.where(relevant, nth / rankings.rank, 0.0)
    others = np.where(relevant, 0.0, 1.0)
    other_inverses = rankings.total(others / rankings.rank)
    inverses_there = harmonic(rankings.rank) - other_inverses.sums[1:]
    return _Terms(
        precision,
        rankings.total(precision),
        rankings.total(np.where(relevant, 1.0 / rankings.rank, 0.0)),
        rankings.total(others),
        other_inverses,
        rankings.total(others * inverses_there),
    )


PAPER = (
    "Fröbe, Gienapp, Potthast and Hagen, Bootstrapped nDCG Estimation in the Presence of Unjudged "
    "Documents, ECIR 2023"
)
EXTREME = (
    "The extreme over all ways to judge them. The naive bounds of the paper, all unjudged documents not "
    "relevant or all of them highly relevant, need not reach it: each relevant one also raises the divisor."
)

P_MAX = Measure(
    name="Pmax",
    title="Highest possible precision at k",
    formula="(relevant or unjudged in top k) / k",
    citation=PAPER,
    compute=highest_precision,
    parameters=(REL, CUTOFF_REQUIRED),
    direction="none",
    note="The lowest possible is P itself, which takes unjudged documents as not relevant.",
)

RR_MAX = Measure(
    name="RRmax",
    title="Highest possible reciprocal rank",
    formula="1 / (rank of the first relevant or unjudged document), 0 if none is in the top k",
    citation=PAPER,
    compute=highest_reciprocal_rank,
    parameters=(REL, CUTOFF),
    direction="none",
    note="The lowest possible is RR itself, which takes unjudged documents as not relevant.",
)

AP_MIN = Measure(
    name="APmin",
    title="Lowest possible average precision",
    formula="the smallest AP@k over all ways to judge the unjudged documents",
    citation=PAPER,
    compute=lowest_average_precision,
    parameters=(REL, CUTOFF),
    direction="none",
    note=EXTREME,
)

AP_MAX = Measure(
    name="APmax",
    title="Highest possible average precision",
    formula="the largest AP@k over all ways to judge the unjudged documents",
    citation=PAPER,
    compute=highest_average_precision,
    parameters=(REL, CUTOFF),
    direction="none",
    note=EXTREME,
)
