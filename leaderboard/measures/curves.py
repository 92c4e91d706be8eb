"""Curves of one topic's ranking: precision and recall at every rank, interpolated, and ROC.

`relevant` is always bool (ranks,), whether the document at each rank is relevant, and `total` the
number of relevant documents, retrieved or not.
"""

import math
from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from leaderboard.measures.exact_recall import level_of
from leaderboard.measures.judged import FloatArray, Judged

Relevance = NDArray[np.bool_]

ELEVEN_LEVELS = (0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0)


def relevance(judged: Judged, place: int, *, rel: int = 1) -> Relevance:
    """Whether each document the run retrieved for the topic at that place is relevant, bool (ranks,).

    >>> from leaderboard.measures.example import judged
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
