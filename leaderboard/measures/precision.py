"""Precision and success in the top ranks, and R-precision."""

import numpy as np

from leaderboard.measures.judged import FloatArray, Judged, ratio
from leaderboard.measures.record import CUTOFF_REQUIRED, REL, Measure, TrecName


def precision(judged: Judged, *, cutoff: int, rel: int = 1) -> FloatArray:
    """The share of the top cutoff ranks that is relevant, float64 (topics,), between 0 and 1.

    Divides by cutoff even where fewer documents were retrieved. Source: trec_eval `P_k`.

    >>> from leaderboard.measures.example import judged
    >>> precision(judged({1: 1, 2: 0, 3: 2}), cutoff=5)
    array([0.4])
    """
    return judged.relevant_count(rel, cutoff) / np.float64(cutoff)


def success(judged: Judged, *, cutoff: int, rel: int = 1) -> FloatArray:
    """1 where a relevant document is in the top cutoff ranks, else 0, float64 (topics,).

    Source: trec_eval `success_k`.

    >>> from leaderboard.measures.example import judged
    >>> success(judged({2: 0, 4: 1}), cutoff=4), success(judged({2: 0, 4: 1}), cutoff=3)
    (array([1.]), array([0.]))
    """
    return (judged.relevant_count(rel, cutoff) > 0).astype(np.float64)


def r_precision(judged: Judged, *, rel: int = 1) -> FloatArray:
    """Precision in the top R ranks, R the topic's number of relevant documents, float64 (topics,).

    0 where a topic has no relevant document. Source: trec_eval `Rprec`.

    Three relevant documents, one of them in the top three:

    >>> from leaderboard.measures.example import judged
    >>> r_precision(judged({2: 1, 4: 1}, missed=[1]))
    array([0.33333333])
    """
    total = judged.judgments.relevant(rel)
    return ratio(judged.relevant_count(rel, total), total)


P = Measure(
    name="P",
    title="Precision in the top k",
    formula="(relevant in top k) / k",
    citation="van Rijsbergen, Information Retrieval, 2nd edition, 1979",
    compute=precision,
    parameters=(REL, CUTOFF_REQUIRED),
    aliases=("Precision",),
    trec_names=(TrecName("P", "cutoff"),),
)

SUCCESS = Measure(
    name="Success",
    title="A relevant document in the top k",
    formula="1 if (relevant in top k) > 0, else 0",
    citation="Craswell et al., Effective Site Finding Using Link Anchor Information, SIGIR 2001",
    compute=success,
    parameters=(REL, CUTOFF_REQUIRED),
    trec_names=(TrecName("success", "cutoff"),),
)

RPREC = Measure(
    name="Rprec",
    title="Precision in the top R",
    formula="(relevant in top R) / R",
    citation="Buckley and Voorhees, Retrieval System Evaluation, in TREC: Experiment and Evaluation, 2005",
    compute=r_precision,
    parameters=(REL,),
    aliases=("RPrec",),
    trec_names=(TrecName("Rprec"),),
)
