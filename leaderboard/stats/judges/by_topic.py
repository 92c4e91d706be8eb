"""Agreement of a judge with the reference topic by topic, which tells judges apart.

Of each topic the coefficient over the runs within it: a table of judges by topics, for which all that holds
for runs by topics holds.
"""

from typing import Literal

import numpy as np
from numpy.typing import NDArray

from leaderboard.stats.judges.agreement import accuracies
from leaderboard.stats.orders.pair_signs import pair_signs_alone, taus

FloatArray = NDArray[np.float64]
Coefficient = Literal["tau_b", "accuracy"]
"""Pairwise accuracy counts a judge's ties as half right: for measures that tie many runs on a topic."""


def topic_agreement(reference: FloatArray, judge: FloatArray, by: Coefficient = "tau_b") -> FloatArray:
    """One coefficient a topic, (topics,): scores of the same runs and topics, (runs, topics) each.

    NaN where it is undefined: where the reference ties all runs, and τ also where the judge does.

    >>> reference, judge = np.array([[3.0, 1], [2, 1], [1, 1]]), np.array([[3.0, 3], [1, 2], [2, 1]])
    >>> topic_agreement(reference, judge)
    array([0.33333333,        nan])
    """
    if by == "accuracy":
        return accuracies(reference.T, judge.T)
    one, two = (pair_signs_alone(scores.T) for scores in (reference, judge))
    return np.where(one.any(axis=1) & two.any(axis=1), taus(one, two), np.nan)
