"""A retrieved set as a classification of the collection: fallout, specificity, accuracy, Dice."""

import numpy as np

from leaderboard.measures.judged import FloatArray, Judged, ratio
from leaderboard.measures.record import REL, Measure, Need
from leaderboard.measures.roc import counts_of


def set_fallout(judged: Judged, *, rel: int = 1) -> FloatArray:
    """The share of the documents not relevant that was retrieved, float64 (topics,), between 0 and 1.

    0 where every document is relevant. Source: Salton and McGill 1983.

    Retrieved are 1 relevant and 3 other documents of 10, 2 of them relevant: 3/8.

    >>> from leaderboard.measures.richer_examples import judged
    >>> set_fallout(judged({1: 1}, missed=[1], retrieved=4, collection_size=10))
    array([0.375])
    """
    counts = counts_of(judged, rel)
    return ratio(counts.wrong, counts.other)


def set_specificity(judged: Judged, *, rel: int = 1) -> FloatArray:
    """The share of the documents not relevant that was not retrieved, float64 (topics,), between 0 and 1.

    1 where every document is relevant. Source: Manning, Raghavan and Schütze 2008, section 8.4.

    Retrieved are 1 relevant and 3 other documents of 10, 2 of them relevant: 5/8.

    >>> from leaderboard.measures.richer_examples import judged
    >>> set_specificity(judged({1: 1}, missed=[1], retrieved=4, collection_size=10))
    array([0.625])
    """
    counts = counts_of(judged, rel)
    return np.where(counts.other > 0, ratio(counts.other - counts.wrong, counts.other), 1.0)


def set_accuracy(judged: Judged, *, rel: int = 1) -> FloatArray:
    """The share of the collection that is rightly retrieved or rightly not, float64 (topics,), 0 to 1.

    1 for an empty collection. Source: Manning, Raghavan and Schütze 2008, section 8.3.

    Of 10 documents 1 is rightly retrieved and 5 are rightly not: 6/10.

    >>> from leaderboard.measures.richer_examples import judged
    >>> set_accuracy(judged({1: 1}, missed=[1], retrieved=4, collection_size=10))
    array([0.6])
    """
    counts = counts_of(judged, rel)
    size = counts.relevant + counts.other
    return np.where(size > 0, ratio(counts.hit_count + counts.other - counts.wrong, size), 1.0)


def set_dice(judged: Judged, *, rel: int = 1) -> FloatArray:
    """Dice's coefficient of the retrieved and the relevant documents, float64 (topics,), between 0 and 1.

    Equal to SetF with beta 1. 0 where there are neither. Source: van Rijsbergen 1979.

    Four retrieved, two relevant, one of them both: 2 · 1 / (4 + 2).

    >>> from leaderboard.measures.richer_examples import judged
    >>> set_dice(judged({1: 1}, missed=[1], retrieved=4))
    array([0.33333333])
    """
    return ratio(2 * judged.relevant_count(rel), judged.retrieved + judged.judgments.relevant(rel))


_SIZE: frozenset[Need] = frozenset({"collection size"})
_BOOK = (
    "Manning, Raghavan and Schütze, Introduction to Information Retrieval, Cambridge University Press, 2008"
)

SET_FALLOUT = Measure(
    name="SetFallout",
    title="Fallout of the retrieved set (false positive rate)",
    formula="(retrieved, not relevant) / (not relevant in the collection)",
    citation="Salton and McGill, Introduction to Modern Information Retrieval, McGraw-Hill, 1983",
    compute=set_fallout,
    parameters=(REL,),
    aliases=("Fallout",),
    direction="lower",
    needs=_SIZE,
    digits=6,
    note="Every document without a relevant grade counts as not relevant, judged or not.",
)

SET_SPECIFICITY = Measure(
    name="SetSpecificity",
    title="Specificity of the retrieved set (true negative rate)",
    formula="(not retrieved, not relevant) / (not relevant in the collection) = 1 − fallout",
    citation=_BOOK,
    compute=set_specificity,
    parameters=(REL,),
    aliases=("Specificity",),
    needs=_SIZE,
    undefined=1.0,
    digits=6,
    note="Near 1 for any run, because nearly all documents of a collection are not relevant.",
)

SET_ACCURACY = Measure(
    name="SetAccuracy",
    title="Accuracy of the retrieved set as a classification",
    formula="((retrieved, relevant) + (not retrieved, not relevant)) / (documents in the collection)",
    citation=_BOOK,
    compute=set_accuracy,
    parameters=(REL,),
    needs=_SIZE,
    undefined=1.0,
    digits=6,
    note=(
        "Near 1 for any run, and often highest for a run that retrieves nothing. ir_measures' Accuracy is "
        "another measure, of pairs in the ranking."
    ),
)

SET_DICE = Measure(
    name="SetDice",
    title="Dice's coefficient of the retrieved and the relevant set",
    formula="2 · (retrieved, relevant) / (retrieved + R)",
    citation="van Rijsbergen, Information Retrieval, 2nd edition, 1979",
    compute=set_dice,
    parameters=(REL,),
    aliases=("Dice",),
)
