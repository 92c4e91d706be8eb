"""Average precision."""

from leaderboard.measures.judged import FloatArray, Judged, ratio
from leaderboard.measures.record import CUTOFF, JUDGED_ONLY, REL, Measure, TrecName


def average_precision(judged: Judged, *, rel: int = 1, cutoff: int | None = None) -> FloatArray:
    """Average precision of every topic, float64 (topics,), between 0 and 1.

    Divides by all relevant documents, also with a cutoff; 0 where there is none.
    Source: Buckley and Voorhees 2005; trec_eval `map`, `map_cut_k`.

    Relevant documents at ranks 1 and 3, a third one not retrieved: (1/1 + 2/3) / 3.

    >>> from leaderboard.measures.example import judged
    >>> average_precision(judged({1: 1, 2: 0, 3: 2}, missed=[1]))
    array([0.55555556])
    """
    hits = judged.relevant(rel, cutoff)
    return ratio(judged.totals(hits.topic, hits.nth / hits.rank), judged.judgments.relevant(rel))


AP = Measure(
    name="AP",
    title="Average precision (its mean is MAP)",
    formula="1/R · Σ over relevant documents at rank i ≤ k of (relevant in top i) / i",
    citation="Buckley and Voorhees, Retrieval System Evaluation, in TREC: Experiment and Evaluation, 2005",
    compute=average_precision,
    parameters=(REL, CUTOFF, JUDGED_ONLY),
    aliases=("MAP", "map"),
    trec_names=(TrecName("map"), TrecName("map_cut", "cutoff")),
)
