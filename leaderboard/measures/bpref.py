"""Binary preference."""

import numpy as np

from leaderboard.measures.judged import FloatArray, Judged, ratio
from leaderboard.measures.record import REL, Measure, TrecName


def bpref(judged: Judged, *, rel: int = 1) -> FloatArray:
    """How rarely judged non-relevant documents rank above relevant ones, float64 (topics,).

    Only documents with a grade of 0 or more count: unjudged ones and negative grades are skipped.
    0 where a topic has no relevant document. Source: Buckley and Voorhees 2004; trec_eval `bpref`.

    Two relevant documents, one below one of two non-relevant ones: (1 + (1 - 1/2)) / 2.

    >>> from leaderboard.measures.richer_examples import judged
    >>> bpref(judged({1: 1, 2: 0, 5: 1}, missed=[0]))
    array([0.75])
    """
    total = judged.judgments.relevant(rel)
    least = np.minimum(judged.judgments.nonrelevant(rel), total)
    relevant = np.flatnonzero(judged.grade >= rel)
    topic = judged.topic[relevant]
    above = judged.above((judged.grade >= 0) & (judged.grade < rel), relevant)
    lost = ratio(np.minimum(above, total[topic]), least[topic])
    return ratio(judged.totals(topic, 1.0 - lost), total)


BPREF = Measure(
    name="Bpref",
    title="Binary preference",
    formula="1/R · Σ over relevant documents of 1 − min(judged non-relevant above, R) / min(N, R)",
    citation="Buckley and Voorhees, Retrieval Evaluation with Incomplete Information, SIGIR 2004",
    compute=bpref,
    parameters=(REL,),
    aliases=("BPref",),
    trec_names=(TrecName("bpref"),),
)
