"""Which judgments decide whether one run has a higher average precision than another.

Source: Carterette, Allan and Sitaraman, Minimal Test Collections for Retrieval Evaluation, SIGIR 2006.
"""

import numpy as np
from numpy.typing import NDArray

from leaderboard.pooling.candidates import FloatArray, IntArray


def coefficients(first: IntArray, second: IntArray) -> FloatArray:
    """What each pair of relevant documents adds to R times the difference in AP, (documents, documents).

    first, second: (documents,) the rank of each document in two rankings, 0 where it has none. Symmetric;
    the difference is the sum over pairs i <= j that are both relevant, over the number R of relevant ones.

    >>> coefficients(np.array([1, 2, 3]), np.array([2, 3, 1]))[0].round(6)
    array([ 0.5     ,  0.166667, -0.166667])
    """
    return _pairs(first) - _pairs(second)


def difference(first: IntArray, second: IntArray, relevant: NDArray[np.bool_]) -> float:
    """The AP of the first ranking less that of the second, 0 where no document is relevant."""
    count = int(relevant.sum())
    inner = np.triu(coefficients(first, second))[np.ix_(relevant, relevant)]
    return float(inner.sum() / count) if count else 0.0


def _pairs(rank: IntArray) -> FloatArray:
    lower = np.where((rank[:, None] > 0) & (rank > 0), np.maximum(rank[:, None], rank), 0)
    return np.divide(1.0, lower, out=np.zeros(lower.shape), where=lower > 0)
