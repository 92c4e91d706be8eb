"""Recall in the top ranks."""

from leaderboard.measures.judged import FloatArray, Judged, ratio
from leaderboard.measures.record import CUTOFF_REQUIRED, JUDGED_ONLY, REL, Measure, TrecName


def recall(judged: Judged, *, cutoff: int, rel: int = 1) -> FloatArray:
    """The share of the relevant documents found in the top cutoff ranks, float64 (topics,).

    0 where a topic has no relevant document. Source: trec_eval `recall_k`.

    >>> from leaderboard.measures.richer_examples import judged
    >>> recall(judged({1: 1, 7: 2}, missed=[1, 1, 0]), cutoff=5)
    array([0.25])
    """
    return ratio(judged.relevant_count(rel, cutoff), judged.judgments.relevant(rel))


R = Measure(
    name="R",
    title="Recall in the top k",
    formula="(relevant in top k) / R",
    citation="van Rijsbergen, Information Retrieval, 2nd edition, 1979",
    compute=recall,
    parameters=(REL, CUTOFF_REQUIRED, JUDGED_ONLY),
    aliases=("Recall", "recall"),
    trec_names=(TrecName("recall", "cutoff"),),
)
