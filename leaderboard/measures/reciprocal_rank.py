"""Reciprocal rank."""

from leaderboard.measures.judged import FloatArray, Judged
from leaderboard.measures.record import CUTOFF, JUDGED_ONLY, REL, Measure, TrecName


def reciprocal_rank(judged: Judged, *, rel: int = 1, cutoff: int | None = None) -> FloatArray:
    """One over the rank of the first relevant document, float64 (topics,), between 0 and 1.

    0 where none is in the top cutoff ranks. Source: Kantor and Voorhees 2000; trec_eval `recip_rank`.

    >>> from leaderboard.measures.richer_examples import judged
    >>> reciprocal_rank(judged({2: 0, 4: 1, 5: 1})), reciprocal_rank(judged({4: 1}), cutoff=3)
    (array([0.25]), array([0.]))
    """
    hits = judged.relevant(rel, cutoff)
    first = hits.nth == 1
    return judged.totals(hits.topic[first], 1.0 / hits.rank[first])


RR = Measure(
    name="RR",
    title="Reciprocal rank of the first relevant document (its mean is MRR)",
    formula="1 / (rank of the first relevant document), 0 if none is in the top k",
    citation="Kantor and Voorhees, The TREC-5 Confusion Track, Information Retrieval 2, 2000",
    compute=reciprocal_rank,
    parameters=(REL, CUTOFF, JUDGED_ONLY),
    aliases=("MRR", "mrr"),
    trec_names=(TrecName("recip_rank"),),
)
