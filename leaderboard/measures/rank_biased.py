"""Rank-biased precision, its graded form, and the residual."""

import numpy as np

from leaderboard.measures.curves import powers
from leaderboard.measures.graded_gain import MAX_REL, MIN_REL, scaled_gains
from leaderboard.measures.judged import UNJUDGED, FloatArray, Judged
from leaderboard.measures.record import CUTOFF, JUDGED_ONLY, REL, Measure, Parameter
from leaderboard.measures.running import before, bounds_of


def rank_biased_precision(
    judged: Judged, *, rel: int = 1, p: float = 0.8, cutoff: int | None = None
) -> FloatArray:
    """The relevant share of what a reader sees who continues to the next rank with probability p.

    float64 (topics,), from 0 to 1. The weights (1 - p) p^(i - 1) of all ranks add up to 1, without
    end; a cutoff leaves out lower ranks. Source: Moffat and Zobel 2008.

    Relevant documents at ranks 1 and 3: 1/2 + 1/8.

    >>> from leaderboard.measures.richer_examples import judged
    >>> rank_biased_precision(judged({1: 1, 2: 0, 3: 2}), p=0.5)
    array([0.625])
    """
    hits = judged.relevant(rel, cutoff)
    return (1.0 - p) * judged.totals(hits.topic, powers(p, hits.rank - 1))


def graded_rbp(
    judged: Judged, *, max_rel: int, min_rel: int = 0, p: float = 0.8, cutoff: int | None = None
) -> FloatArray:
    """Rank-biased precision with a share of each document's weight by its grade, float64 (topics,).

    From 0 to 1. Source: Sakai and Kando 2008, with the grade above min_rel as the gain.

    Grade 1 of 2 at rank 1, grade 2 at rank 2: 1/2 · 1/2 + 1 · 1/4.

    >>> from leaderboard.measures.richer_examples import judged
    >>> graded_rbp(judged({1: 1, 2: 2}), max_rel=2, p=0.5)
    array([0.5])
    """
    hits = scaled_gains(judged, min_rel, max_rel, cutoff)
    return (1.0 - p) * judged.totals(hits.topic, hits.gain * powers(p, hits.rank - 1))


def rbp_residual(judged: Judged, *, p: float = 0.8, cutoff: int | None = None) -> FloatArray:
    """By how much RBP could rise if everything not judged were relevant, float64 (topics,), 0 to 1.

    The weight of all ranks without a judged document: unjudged ones (grade -1 too) and everything
    below the end of the ranking, or below the cutoff. 1 where nothing was retrieved.
    Source: Moffat and Zobel 2008.

    Judged documents at ranks 1 and 3: the weights of rank 2 and of all below 3, 1/4 + 1/8.

    >>> from leaderboard.measures.richer_examples import judged
    >>> rbp_residual(judged({1: 1, 2: -1, 3: 0}), p=0.5)
    array([0.375])
    """
    counted = judged.grade != UNJUDGED
    if cutoff is not None:
        counted &= judged.rank <= cutoff
    topic, rank = judged.topic[counted], judged.rank[counted]
    starts = bounds_of(topic, len(judged.judgments))
    # Gap by gap, so that nothing is lost to subtraction from 1.
    below = powers(p, rank)
    gap = before(starts, below, 1.0) - powers(p, rank - 1)
    tail = np.ones(len(judged.judgments))
    tail[topic] = below
    return judged.totals(topic, gap) + tail


PERSISTENCE = Parameter(
    "p", "number", "The probability that the reader continues to the next rank.", 0.01, 0.9999, default=0.8
)
_PAPER = (
    "Moffat and Zobel, Rank-Biased Precision for Measurement of Retrieval Effectiveness, TOIS 27(1), 2008"
)

RBP = Measure(
    name="RBP",
    title="Rank-biased precision",
    formula="(1 − p) · Σ over relevant documents at rank i ≤ k of p^(i − 1)",
    citation=_PAPER,
    compute=rank_biased_precision,
    parameters=(REL, PERSISTENCE, CUTOFF, JUDGED_ONLY),
    note=(
        "p is 0.8 by default as in ir_measures; trec_eval 10 has 0.9 and weighs grades by those present in "
        "the topic. cwl_eval divides by the weight of the first 1,000 ranks, 1 − p^1000: no difference up to "
        "p = 0.95, 4 in 100,000 at 0.99, more than half the score at 0.999. The RBP published for "
        "TREC-COVID weighs grades: it is gRBP(max_rel=2,p=0.5)."
    ),
)

GRADED_RBP = Measure(
    name="gRBP",
    title="Graded rank-biased precision",
    formula="(1 − p) · Σ over ranks i ≤ k of p^(i − 1) · (g − min_rel) / (max_rel − min_rel), within 0 and 1",
    citation=(
        "Sakai and Kando, On Information Retrieval Metrics Designed for Evaluation with Incomplete Relevance "
        "Assessments, Information Retrieval 11(5), 2008"
    ),
    compute=graded_rbp,
    parameters=(MAX_REL, MIN_REL, PERSISTENCE, CUTOFF, JUDGED_ONLY),
    needs=frozenset({"graded"}),
    note=(
        "The scale is given, not taken from the grades that occur, so topics are comparable. "
        "gRBP(max_rel=2,p=0.5) is what TREC-COVID published as RBP."
    ),
)

RBP_RESIDUAL = Measure(
    name="RBPResid",
    title="Residual of rank-biased precision",
    formula="1 − (1 − p) · Σ over judged documents at rank i ≤ k of p^(i − 1)",
    citation=_PAPER,
    compute=rbp_residual,
    parameters=(PERSISTENCE, CUTOFF),
    direction="none",
    undefined=1.0,
    note=(
        "RBP lies between its value and its value plus this. A grade below -1 is a judgment (junk), -1 is "
        "none. trec_eval 10 prints 0 where no retrieved document is unjudged; the tail is counted here."
    ),
)
