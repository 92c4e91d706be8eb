"""Running sums and products down each ranking."""

import numpy as np

from leaderboard.measures.judged import FloatArray, IntArray


def running(ufunc: np.ufunc, starts: IntArray, values: FloatArray) -> FloatArray:
    """The running sum (np.add) or product (np.multiply) of each topic's values, in the order given.

    starts: (topics + 1,) where each topic's values begin, and their end. Goes topic by topic: one
    running sum over all, less what came before, would have other last bits in other company.

    >>> running(np.add, np.array([0, 2, 3]), np.array([1.0, 2.0, 5.0]))
    array([1., 3., 5.])
    """
    out = values.astype(np.float64)
    for topic in np.flatnonzero(np.diff(starts) > 1).tolist():
        place = slice(starts[topic], starts[topic + 1])
        ufunc.accumulate(values[place], out=out[place])
    return out


def before(starts: IntArray, totals: FloatArray, empty: float) -> FloatArray:
    """The running sum or product just above each value; empty where nothing is above.

    >>> before(np.array([0, 2, 3]), np.array([1.0, 3.0, 5.0]), 0.0)
    array([0., 1., 0.])
    """
    out = np.concatenate(([empty], totals[:-1])) if len(totals) else totals.copy()
    first = starts[:-1]
    out[first[first < starts[1:]]] = empty
    return out


def last(starts: IntArray, totals: FloatArray, empty: float) -> FloatArray:
    """The running sum or product at the end of each topic, (topics,); empty for a topic without values.

    >>> last(np.array([0, 2, 2, 3]), np.array([1.0, 3.0, 5.0]), 0.0)
    array([3., 0., 5.])
    """
    out = np.full(len(starts) - 1, empty)
    filled = starts[:-1] < starts[1:]
    out[filled] = totals[starts[1:][filled] - 1]
    return out


def bounds_of(topic: IntArray, topics: int) -> IntArray:
    """Start of each topic's values, and their end, (topics + 1,), for ascending topics.

    >>> bounds_of(np.array([0, 0, 2]), 3)
    array([0, 2, 2, 3])
    """
    return np.searchsorted(topic, np.arange(topics + 1))
