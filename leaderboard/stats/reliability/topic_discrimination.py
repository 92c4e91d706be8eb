"""How well each topic tells runs apart, by classical test theory."""

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]

FEWEST_RUNS = 3
"""Of two runs every correlation is 1 or -1."""

MaskedArray = np.ma.MaskedArray[tuple[int], np.dtype[np.float64]]


def discrimination(scores: FloatArray) -> MaskedArray:
    """The item-rest correlation of every topic, masked (topics,), between -1 and 1.

    scores: (runs, topics). The correlation over runs of their scores on the topic with their means over
    all other topics: near 1 where the topic orders runs as the others do, near 0 where it says nothing
    of them, below 0 where it orders them the other way round. Masked where it is not defined: fewer than
    3 runs, a single topic, or no differences between runs on either side; `.tolist()` has None there.
    Source: Bodoff, Test Theory for Evaluating Reliability of IR Test Collections, Information Processing
    and Management 44(3), 2008 (item analysis).

    The third topic is against the other two:

    >>> discrimination(np.array([[0.1, 0.2, 0.9], [0.2, 0.3, 0.5], [0.3, 0.4, 0.6]])).round(2).tolist()
    [-0.33, -0.33, -0.72]
    """
    runs, topics = scores.shape
    if runs < FEWEST_RUNS or topics < 2:
        return _nothing(topics)
    rest = (scores.sum(axis=1, keepdims=True) - scores) / (topics - 1)
    one, other = _standardised(scores), _standardised(rest)
    correlation = np.clip((one * other).sum(axis=0), -1.0, 1.0)
    return np.ma.array(correlation, mask=~(one.any(axis=0) & other.any(axis=0)))


def _nothing(topics: int) -> MaskedArray:
    return np.ma.array(np.zeros(topics), mask=np.ones(topics, np.bool_))


def _standardised(values: FloatArray) -> FloatArray:
    """Each column less its mean and of length 1; all 0 where it does not vary beyond rounding."""
    centred = values - values.mean(axis=0)
    length = np.sqrt((centred**2).sum(axis=0))
    smallest = (
        1e-12 * np.maximum(np.abs(values).max(axis=0), np.finfo(np.float64).tiny) * np.sqrt(len(values))
    )
    zeros: FloatArray = np.zeros_like(centred)
    np.divide(centred, length, out=zeros, where=length > smallest)
    return zeros
