"""Normalised discounted cumulative gain."""

from leaderboard.measures.discounts import log2_discounts
from leaderboard.measures.judged import FloatArray, Judged, ratio
from leaderboard.measures.record import CUTOFF, Measure, TrecName


def ndcg(judged: Judged, *, cutoff: int | None = None) -> FloatArray:
    """Discounted gain over that of the best possible ranking, float64 (topics,), between 0 and 1.

    The gain is the grade itself, negative grades gain 0; the discount is log2(rank + 1). 0 where
    no document has a positive grade. No relevance level applies.
    Source: Järvelin and Kekäläinen 2002; trec_eval `ndcg`, `ndcg_cut_k`.

    Grade 1 at rank 1, grade 2 at rank 3: (1 + 2/2) / (2 + 1/log2(3)).

    >>> from leaderboard.measures.example import judged
    >>> ndcg(judged({1: 1, 3: 2}))
    array([0.76018753])
    """
    wanted = judged.grade > 0
    if cutoff is not None:
        wanted &= judged.rank <= cutoff
    gain = judged.grade[wanted] / log2_discounts(judged.rank[wanted])
    return ratio(judged.totals(judged.topic[wanted], gain), judged.judgments.ideal_dcg(cutoff))


NDCG = Measure(
    name="nDCG",
    title="Normalised discounted cumulative gain (linear gain, log2 discount)",
    formula="Σ over ranks i ≤ k of max(grade, 0) / log2(i + 1), divided by that sum of the ideal ranking",
    citation="Järvelin and Kekäläinen, Cumulated Gain-Based Evaluation of IR Techniques, TOIS 20(4), 2002",
    compute=ndcg,
    parameters=(CUTOFF,),
    aliases=("NDCG",),
    trec_names=(TrecName("ndcg"), TrecName("ndcg_cut", "cutoff")),
)
