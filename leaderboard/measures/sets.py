"""Precision, recall and F of everything retrieved, ranks aside."""

import numpy as np

from leaderboard.measures.judged import FloatArray, Judged, ratio
from leaderboard.measures.record import JUDGED_ONLY, REL, Measure, Parameter, TrecName


def set_precision(judged: Judged, *, rel: int = 1, relative: bool = False) -> FloatArray:
    """The share of the retrieved documents that is relevant, float64 (topics,), between 0 and 1.

    relative: over the best share possible for as many documents, which divides by R where more than
    R were retrieved. 0 where nothing was retrieved. Source: trec_eval `set_P`, `set_relative_P`.

    >>> from leaderboard.measures.richer_examples import judged
    >>> set_precision(judged({1: 1, 8: 0}, retrieved=8))
    array([0.125])
    """
    hit_count, retrieved = judged.relevant_count(rel), judged.retrieved
    return ratio(hit_count, np.minimum(retrieved, judged.judgments.relevant(rel)) if relative else retrieved)


def set_recall(judged: Judged, *, rel: int = 1) -> FloatArray:
    """The share of the relevant documents that was retrieved, float64 (topics,), between 0 and 1.

    0 where a topic has no relevant document. Source: trec_eval `set_recall`.

    >>> from leaderboard.measures.richer_examples import judged
    >>> set_recall(judged({1: 1, 8: 0}, missed=[1, 1, 2]))
    array([0.25])
    """
    return ratio(judged.relevant_count(rel), judged.judgments.relevant(rel))


def set_f(judged: Judged, *, rel: int = 1, beta: float = 1.0) -> FloatArray:
    """The weighted harmonic mean of set precision and set recall, float64 (topics,).

    beta: how many times as much recall weighs as precision; trec_eval's `set_F_x` has x = beta
    squared. 0 where both are 0. Source: van Rijsbergen 1979.

    Precision 1/2 and recall 1/4 give 2 · 1/2 · 1/4 / (1/2 + 1/4):

    >>> from leaderboard.measures.richer_examples import judged
    >>> set_f(judged({1: 1}, missed=[1, 1, 1], retrieved=2))
    array([0.33333333])
    """
    # 15 digits: the square of the square root of trec_eval's x is that x again, to the last bit.
    x = float(f"{beta * beta:.15g}")
    precision, recall = set_precision(judged, rel=rel), set_recall(judged, rel=rel)
    return ratio((x + 1.0) * precision * recall, recall + x * precision)


def set_average_precision(judged: Judged, *, rel: int = 1) -> FloatArray:
    """Set precision times set recall: average precision if all ranks were one, float64 (topics,), 0 to 1.

    0 where nothing was retrieved or a topic has no relevant document. Source: trec_eval `set_map`.

    Precision 1/2 and recall 1/4:

    >>> from leaderboard.measures.richer_examples import judged
    >>> set_average_precision(judged({1: 1}, missed=[1, 1, 1], retrieved=2))
    array([0.125])
    """
    hit_count = judged.relevant_count(rel)
    return ratio(hit_count * hit_count, judged.retrieved * judged.judgments.relevant(rel))


RELATIVE = Parameter(
    "relative", "boolean", "Divide by R where more than R documents were retrieved.", default=False
)
BETA = Parameter("beta", "number", "The weight of recall relative to precision.", 0.01, 100.0, default=1.0)

SET_P = Measure(
    name="SetP",
    title="Precision of the retrieved set",
    formula="(relevant retrieved) / (retrieved), or with relative / min(retrieved, R)",
    citation="van Rijsbergen, Information Retrieval, 2nd edition, 1979",
    compute=set_precision,
    parameters=(REL, RELATIVE, JUDGED_ONLY),
    trec_names=(TrecName("set_P"), TrecName("set_relative_P", fixed=(("relative", True),))),
)

SET_R = Measure(
    name="SetR",
    title="Recall of the retrieved set",
    formula="(relevant retrieved) / R",
    citation="van Rijsbergen, Information Retrieval, 2nd edition, 1979",
    compute=set_recall,
    parameters=(REL,),
    trec_names=(TrecName("set_recall"),),
)

SET_F = Measure(
    name="SetF",
    title="F measure of the retrieved set",
    formula="(β² + 1) · SetP · SetR / (SetR + β² · SetP)",
    citation="van Rijsbergen, Information Retrieval, 2nd edition, 1979",
    compute=set_f,
    parameters=(REL, BETA, JUDGED_ONLY),
    trec_names=(TrecName("set_F"), TrecName("set_F", "beta", squared=True)),
    note="trec_eval's set_F_x has x = β²: set_F_0.25 is SetF(beta=0.5).",
)

SET_AP = Measure(
    name="SetAP",
    title="Unranked average precision of the retrieved set",
    formula="SetP · SetR",
    citation="trec_eval, set_map",
    compute=set_average_precision,
    parameters=(REL, JUDGED_ONLY),
    trec_names=(TrecName("set_map"),),
)
