"""Curves of one topic's ranking: precision and recall at every rank, interpolated, and ROC.

`relevant` is always bool (ranks,), whether the document at each rank is relevant, and `total` the
number of relevant documents, retrieved or not.
"""

import math
from collections.abc import Iterable
from functools import cache, lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from leaderboard.measures.exact_recall import level_of
from leaderboard.measures.judged import FloatArray, IntArray, Judged

_TERMS = 16
"""Number of terms added one by one; the rest is below 1e-17 of the formula's error there."""


def powers(base: float, exponent: IntArray) -> FloatArray:
    """base to the power of every exponent, which are 0 or more.

    Not np.power: its result differs in the last bit between processors.

    >>> powers(0.5, np.array([0, 2]))
    array([1.  , 0.25])
    """
    return _powers(base, int(exponent.max(initial=0)).bit_length())[exponent]


def harmonic(number: IntArray) -> FloatArray:
    """1 + 1/2 + ... + 1/number of every number, 0 for 0.

    >>> harmonic(np.array([0, 2]))
    array([0. , 1.5])
    """
    return _harmonic(int(number.max(initial=0)).bit_length())[number]


def inverse_squares(start: NDArray[Any]) -> FloatArray:
    """1/start² + 1/(start + 1)² + ..., without end, of every start above 0.

    The first terms one by one, the rest by the Euler-Maclaurin formula, whose error is below the
    last bit there. From 1 on the sum is π²/6:

    >>> inverse_squares(np.array([1.0])).round(6)
    array([1.644934])
    """
    total = np.zeros(len(start))
    for term in range(_TERMS):
        total += 1.0 / np.square(start + term)
    x = start + _TERMS
    square = x * x
    tail = 1.0 / x + 0.5 / square
    series = 1 / 6 - (1 / 30 - (1 / 42 - (1 / 30 - 5 / 66 / square) / square) / square) / square
    rest: FloatArray = total + (tail + series / (square * x))
    return rest


@lru_cache(maxsize=32)
def _powers(base: float, bits: int) -> FloatArray:
    table = np.array([base**exponent for exponent in range(1 << bits)])
    table.flags.writeable = False
    return table


@cache
def _harmonic(bits: int) -> FloatArray:
    table = np.concatenate(([0.0], np.cumsum(1.0 / np.arange(1, 1 << bits))))
    table.flags.writeable = False
    return table


Relevance = NDArray[np.bool_]

ELEVEN_LEVELS = (0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0)


def relevance(judged: Judged, place: int, *, rel: int = 1) -> Relevance:
    """Whether each document the run retrieved for the topic at that place is relevant, bool (ranks,).

    >>> from leaderboard.measures.richer_examples import judged
    >>> relevance(judged({1: 2, 2: 0, 4: 1}), 0)
    array([ True, False, False,  True])
    """
    is_relevant = np.zeros(int(judged.retrieved[place]), dtype=np.bool_)
    is_relevant[judged.rank[(judged.topic == place) & (judged.grade >= rel)] - 1] = True
    return is_relevant


def precision_by_rank(relevant: Relevance) -> FloatArray:
    """Precision at every rank, (ranks,).

    >>> precision_by_rank(np.array([True, False]))
    array([1. , 0.5])
    """
    return np.cumsum(relevant) / np.arange(1, len(relevant) + 1)


def recall_by_rank(relevant: Relevance, total: int) -> FloatArray:
    """Recall at every rank, (ranks,); 0 where no document is relevant.

    >>> recall_by_rank(np.array([True, False, True]), 4)
    array([0.25, 0.25, 0.5 ])
    """
    return np.cumsum(relevant) / max(total, 1)


def points(relevant: Relevance, total: int) -> FloatArray:
    """Recall and precision at the rank of every relevant document retrieved, (found, 2).

    >>> points(np.array([True, False, False, True]), 4)
    array([[0.25, 1.  ],
           [0.5 , 0.5 ]])
    """
    both = np.column_stack((recall_by_rank(relevant, total), precision_by_rank(relevant)))
    return both[relevant]


def interpolated(relevant: Relevance, total: int, levels: Iterable[float] = ELEVEN_LEVELS) -> FloatArray:
    """The highest precision at any rank that reaches each recall level, (levels,); 0 where none does.

    Levels are compared as fractions: 3 of 5 documents reach recall 0.6.

    >>> interpolated(np.array([True, False, True]), 4, [0.0, 0.25, 0.5, 0.75])
    array([1.        , 1.        , 0.66666667, 0.        ])
    """
    hits, precision = np.cumsum(relevant), precision_by_rank(relevant)
    needed = [math.ceil(level_of(level) * total) for level in levels]
    return np.array([precision[hits >= count].max(initial=0.0) if total else 0.0 for count in needed])


def precisions_at_recall(relevant: Relevance, total: int, recall: float) -> FloatArray:
    """Precision at every rank from the first that reaches the recall to the next relevant document.

    Recall stays the same over these ranks, so any of them can be meant by precision at that recall.
    Empty where it is never reached.

    >>> precisions_at_recall(np.array([True, False, False, True]), 2, 0.5)
    array([1.        , 0.5       , 0.33333333])
    """
    at_level: Relevance = (np.cumsum(relevant) == math.ceil(level_of(recall) * total)) & (total > 0)
    return precision_by_rank(relevant)[at_level]


def break_even(relevant: Relevance, total: int) -> float | None:
    """Precision where it equals recall, at rank `total`; None where the ranking ends before.

    >>> break_even(np.array([True, False, True]), 2), break_even(np.array([True]), 2)
    (0.5, None)
    """
    if not 0 < total <= len(relevant):
        return None
    return int(np.count_nonzero(relevant[:total])) / total


def roc(relevant: Relevance, total: int, collection_size: int) -> tuple[FloatArray, FloatArray]:
    """Recall (true positive rate) and fallout (false positive rate) at every rank, each (ranks,).

    The curve begins at (0, 0) and ends at (1, 1), which the documents not retrieved reach together.

    >>> roc(np.array([True, False, True]), 2, 4)
    (array([0.5, 0.5, 1. ]), array([0. , 0.5, 0.5]))
    """
    others = max(collection_size - total, 1)
    return recall_by_rank(relevant, total), np.cumsum(~relevant) / others
