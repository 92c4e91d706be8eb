"""Simulation of pooling methods on complete judgments."""

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from leaderboard.pooling.bound import BoundMethod
from leaderboard.pooling.candidates import FloatArray, IntArray
from leaderboard.pooling.methods import pool, start

NEVER = np.inf
"""Share of judging for documents that the method never selects."""


def judging_order(
    bound: BoundMethod,
    rankings: Sequence[IntArray],
    grades: Mapping[int, int],
    *,
    seed: int = 0,
    level: int = 1,
    scores: Sequence[FloatArray] | None = None,
) -> IntArray:
    """The order in which a method selects one topic's judged documents, with no budget.

    grades: of judged documents; others are skipped at no cost, as are those with a negative
    grade. A grade of at least level is relevant. Raises ValueError as `pool` does.
    """
    endless = bound.without_budget
    if endless.adaptive:
        return start(endless, rankings, seed, scores=scores).order(grades, level)
    documents = pool(endless, rankings, seed=seed, scores=scores).documents
    judged = np.fromiter((document for document, grade in grades.items() if grade >= 0), dtype=np.int64)
    return documents[np.isin(documents, judged)]


def judged_after(order: IntArray, documents: IntArray) -> FloatArray:
    """Share of one topic's judging after which each of its judged documents is judged, (documents,).

    order: from judging_order; documents: the judged ones, ascending. Above 0 up to 1, NEVER if the
    order lacks it. Documents judged at share x satisfy `judged_after(...) <= x`.

    >>> judged_after(np.array([7, 2]), np.array([2, 5, 7, 9]))
    array([0.5 ,  inf, 0.25,  inf])
    """
    after = np.full(len(documents), NEVER)
    after[np.searchsorted(documents, order)] = np.arange(1, len(order) + 1) / len(documents)
    return after


def recall(after: FloatArray, relevant: NDArray[np.bool_], shares: FloatArray) -> FloatArray:
    """Share of the relevant documents found at each share of judging, (shares,).

    after, relevant: (documents,) of all topics. 0 without relevant documents.

    >>> recall(np.array([0.5, 1.0]), np.array([True, True]), np.array([0.0, 0.5, 1.0]))
    array([0. , 0.5, 1. ])
    """
    counts = np.searchsorted(np.sort(after[relevant]), shares, side="right")
    return counts / max(int(relevant.sum()), 1)


def area(after: FloatArray, relevant: NDArray[np.bool_], *, steps: int = 100) -> float:
    """The area under recall by share judged, by trapezoids: 1/2 for a random order, more for a better one."""
    curve = recall(after, relevant, np.linspace(0.0, 1.0, steps + 1))
    return float(np.mean((curve[1:] + curve[:-1]) / 2.0))
