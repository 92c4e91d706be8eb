"""Similarity of a reproduction's scores to the original's, topic by topic.

Scores are float64 (topics,), of the original's topics in one order; a topic that a run misses has the score
of an empty ranking. Breuer et al., How to Measure the Reproducibility of System-oriented IR Experiments,
SIGIR 2020; repro_eval 0.5.
"""

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]


def rmse(original: FloatArray, reproduced: FloatArray) -> float:
    """The root of the mean squared difference, in units of the measure; raises ValueError without a topic.

    >>> round(rmse(np.array([0.4, 0.2, 0.6, 0.3]), np.array([0.38, 0.25, 0.55, 0.3])), 6)
    0.036742
    """
    if not len(original) or original.shape != reproduced.shape:
        raise ValueError("an original and its reproduction have scores on the same topics, at least one")
    return float(np.sqrt(np.mean((original - reproduced) ** 2)))


def nrmse(original: FloatArray, reproduced: FloatArray) -> float | None:
    """RMSE as a share of the largest it could be, from 0 to 1; None for scores outside 0 to 1.

    >>> round(nrmse(np.array([0.4, 0.2, 0.6, 0.3]), np.array([0.38, 0.25, 0.55, 0.3])), 6)
    0.054027
    """
    error = rmse(original, reproduced)
    if min(original.min(), reproduced.min()) < 0 or max(original.max(), reproduced.max()) > 1:
        return None
    return error / float(np.sqrt(np.mean(np.maximum(original, 1 - original) ** 2)))


def largest_differences(original: FloatArray, reproduced: FloatArray, most: int) -> IntArray:
    """The places of up to `most` topics whose scores differ most, without those that do not differ.

    >>> largest_differences(np.array([0.4, 0.2, 0.6, 0.3]), np.array([0.38, 0.25, 0.2, 0.3]), 2)
    array([2, 1])
    """
    distance = np.abs(original - reproduced)
    order = np.argsort(-distance, kind="stable")
    return order[distance[order] > 0][:most].astype(np.int64)
