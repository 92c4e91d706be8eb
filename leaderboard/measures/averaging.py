"""Precision, recall and F over all topics at once: of pooled counts, and of their means."""

import numpy as np

from leaderboard.measures.judged import FloatArray, Judged, ratio
from leaderboard.measures.record import REL, Measure
from leaderboard.measures.sets import BETA, set_f, set_precision, set_recall


def micro_precision(judged: Judged, *, rel: int = 1) -> FloatArray:
    """The share of the retrieved documents that is relevant, float64 (topics,), between 0 and 1.

    Over all topics: the relevant documents retrieved for any, over the documents retrieved for any.
    Source: van Rijsbergen 1979, micro-evaluation.

    >>> from leaderboard.measures.richer_examples import judged
    >>> micro_precision(judged({1: 1}, retrieved=4))
    array([0.25])
    """
    return set_precision(judged, rel=rel)


def micro_recall(judged: Judged, *, rel: int = 1) -> FloatArray:
    """The share of the relevant documents that was retrieved, float64 (topics,), between 0 and 1.

    Over all topics: the relevant documents retrieved for any, over the relevant documents of all.
    Source: van Rijsbergen 1979, micro-evaluation.

    >>> from leaderboard.measures.richer_examples import judged
    >>> micro_recall(judged({1: 1}, missed=[1]))
    array([0.5])
    """
    return set_recall(judged, rel=rel)


def micro_f(judged: Judged, *, rel: int = 1, beta: float = 1.0) -> FloatArray:
    """F of the retrieved documents, float64 (topics,), between 0 and 1.

    Over all topics: F of the micro precision and micro recall. beta: how many times as much recall
    weighs as precision. Source: van Rijsbergen 1979.

    Precision 1/2 and recall 1/4 give 2 · 1 / (4 + 2):

    >>> from leaderboard.measures.richer_examples import judged
    >>> micro_f(judged({1: 1}, missed=[1, 1, 1], retrieved=2))
    array([0.33333333])
    """
    numerators, divisors = _f_parts(judged, rel=rel, beta=beta)
    return ratio(numerators, divisors)


def f_of_means(judged: Judged, *, rel: int = 1, beta: float = 1.0) -> FloatArray:
    """F of the retrieved documents, float64 (topics,), between 0 and 1.

    Over all topics: F of the mean precision and the mean recall, not the mean of F. beta: how many
    times as much recall weighs as precision. Source: Opitz and Burst 2019, F1 of averages.

    >>> from leaderboard.measures.richer_examples import judged
    >>> f_of_means(judged({1: 1}, missed=[1, 1, 1], retrieved=2))
    array([0.33333333])
    """
    return set_f(judged, rel=rel, beta=beta)


def _precision_parts(judged: Judged, *, rel: int) -> FloatArray:
    return np.array([judged.relevant_count(rel), judged.retrieved], dtype=np.float64)


def _recall_parts(judged: Judged, *, rel: int) -> FloatArray:
    return np.array([judged.relevant_count(rel), judged.judgments.relevant(rel)], dtype=np.float64)


def _f_parts(judged: Judged, *, rel: int, beta: float) -> FloatArray:
    x = beta * beta
    return np.array(
        [(x + 1.0) * judged.relevant_count(rel), x * judged.judgments.relevant(rel) + judged.retrieved]
    )


def _means(judged: Judged, *, rel: int, beta: float) -> FloatArray:
    return np.array([set_precision(judged, rel=rel), set_recall(judged, rel=rel)])


def _combined(precision: float, recall: float, *, rel: int, beta: float) -> float:
    x = beta * beta
    divisor = recall + x * precision
    return (x + 1.0) * precision * recall / divisor if divisor else 0.0


_BOOK = "van Rijsbergen, Information Retrieval, 2nd edition, 1979"
_POOLED = (
    "Topics with many documents weigh most; the mean of a topic's own value over topics, the macro average, "
    "is {}. Tests compare the values of single topics."
)

MICRO_P = Measure(
    name="MicroP",
    title="Precision of the retrieved documents of all topics together",
    formula="Σ over topics of (relevant retrieved) / Σ over topics of (retrieved)",
    citation=_BOOK,
    compute=micro_precision,
    parameters=(REL,),
    aggregate="micro",
    parts=_precision_parts,
    note=_POOLED.format("SetP"),
)

MICRO_R = Measure(
    name="MicroR",
    title="Recall of the retrieved documents of all topics together",
    formula="Σ over topics of (relevant retrieved) / Σ over topics of R",
    citation=_BOOK,
    compute=micro_recall,
    parameters=(REL,),
    aggregate="micro",
    parts=_recall_parts,
    note=_POOLED.format("SetR"),
)

MICRO_F = Measure(
    name="MicroF",
    title="F measure of the retrieved documents of all topics together",
    formula="(β² + 1) · Σ over topics of (relevant retrieved) / Σ over topics of (β² · R + retrieved)",
    citation=_BOOK,
    compute=micro_f,
    parameters=(REL, BETA),
    aggregate="micro",
    parts=_f_parts,
    note=_POOLED.format("SetF"),
)

F_OF_MEANS = Measure(
    name="FOfMeans",
    title="F measure of mean precision and mean recall",
    formula="(β² + 1) · P · R / (R + β² · P), P = mean of SetP over topics, R = mean of SetR over topics",
    citation="Opitz and Burst, Macro F1 and Macro F1, arXiv:1911.03347, 2019",
    compute=f_of_means,
    parameters=(REL, BETA),
    aggregate="from means",
    parts=_means,
    combine=_combined,
    note="Also called macro F, like the mean of the topics' F, which is SetF and a different number.",
)
