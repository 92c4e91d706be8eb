"""Normalised discounted cumulative gain."""

from leaderboard.measures.discounted_gain import (
    FORM,
    FORMULAS,
    discounted_gain,
    ideal_of_judged,
    ideal_of_retrieved,
)
from leaderboard.measures.judged import FloatArray, Judged, ratio
from leaderboard.measures.record import CUTOFF, GAINS, JUDGED_ONLY, Gains, Measure, Parameter, TrecName


def ndcg(
    judged: Judged,
    *,
    gains: Gains | None = None,
    dcg: str = "log2",
    ideal: str = "judged",
    cutoff: int | None = None,
) -> FloatArray:
    """Discounted gain over that of the best possible ranking, float64 (topics,), between 0 and 1.

    The gain is the grade itself or set by gains, and 0 for negative grades; the discount is
    log2(rank + 1). dcg names another form of both, as for DCG; with ideal='retrieved' the best
    possible ranking is one of the retrieved documents alone. 0 where no document has a gain above 0.
    No relevance level applies.
    Source: Järvelin and Kekäläinen 2002; trec_eval `ndcg`, `ndcg_cut_k`.

    Grade 1 at rank 1, grade 2 at rank 3: (1 + 2/2) / (2 + 1/log2(3)).

    >>> from leaderboard.measures.richer_examples import judged
    >>> ndcg(judged({1: 1, 3: 2}))
    array([0.76018753])
    """
    if ideal == "retrieved":
        best = ideal_of_retrieved(judged, gains, dcg, cutoff)
    else:
        best = ideal_of_judged(judged.judgments, gains, dcg, cutoff)
    return ratio(discounted_gain(judged, dcg=dcg, gains=gains, cutoff=cutoff), best)


IDEAL = Parameter(
    "ideal",
    "choice",
    "The documents the best possible ranking has: all judged ones, or those retrieved.",
    default="judged",
    choices=("judged", "retrieved"),
)

NDCG = Measure(
    name="nDCG",
    title="Normalised discounted cumulative gain",
    formula=(
        "Σ over ranks i ≤ k of max(grade, 0) / log2(i + 1), divided by that sum of the ideal ranking. "
        f"Terms of other forms: {FORMULAS}"
    ),
    citation="Järvelin and Kekäläinen, Cumulated Gain-Based Evaluation of IR Techniques, TOIS 20(4), 2002",
    compute=ndcg,
    parameters=(FORM, GAINS, IDEAL, CUTOFF, JUDGED_ONLY),
    aliases=("NDCG", "ndcg"),
    trec_names=(TrecName("ndcg"), TrecName("ndcg_cut", "cutoff")),
    note=(
        "The gain is linear unless dcg says otherwise; web search and Kaggle-style tasks usually mean "
        "exp-log2, as does gdeval: the base of the logarithm makes no difference there. Gains are given as "
        "gains={1:1,2:3.5}. trec_eval sorts them for the ideal ranking by the whole part of their "
        "differences, which can misplace gains less than 1 apart; here the ideal is the best ranking."
    ),
)
