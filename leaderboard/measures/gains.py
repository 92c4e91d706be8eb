"""Gains of judged documents: their grades, or the values of a measure's `gains` parameter."""

import numpy as np

from leaderboard.measures.judged import FloatArray, IntArray, Judgments
from leaderboard.measures.record import LARGEST, Gains, Parameter

GAINS = Parameter(
    "gains", "gains", "Gains of grades from 0 up, where they are not the grades themselves.", 0, LARGEST
)


def document_gains(judgments: Judgments, gains: Gains | None = None) -> FloatArray:
    """The gain of every judged document, (documents,): its grade or what gains says, 0 below grade 0.

    >>> from leaderboard.measures.richer_examples import judged
    >>> document_gains(judged({1: 1, 2: -1}, missed=[3]).judgments, ((1, 0.5),))
    array([0.5, 0. , 3. ])
    """
    return judgments.keep(("gains", gains), lambda: _gains(judgments.grades, gains))


def ideal_order(judgments: Judgments, gains: Gains | None = None) -> IntArray:
    """The documents with a gain above 0 in the order of an ideal ranking, one topic after the other.

    Indices into Judgments.grades. Gains are compared as the doubles they are.

    >>> from leaderboard.measures.richer_examples import judged
    >>> ideal_order(judged({1: 1, 2: 0}, missed=[3]).judgments)
    array([2, 0])
    """
    return judgments.keep(("ideal order", gains), lambda: _order(judgments, gains))


def _gains(grades: IntArray, gains: Gains | None) -> FloatArray:
    gained = np.maximum(grades, 0).astype(np.float64)
    for grade, gain in gains or ():
        gained[grades == grade] = gain
    return gained


def _order(judgments: Judgments, gains: Gains | None) -> IntArray:
    gain = document_gains(judgments, gains)
    order = np.lexsort((-gain, judgments.topic))
    return judgments.repeated(order[gain[order] > 0])
