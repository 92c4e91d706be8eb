"""The paired t test with a guard against skew: the larger of its p and that of Johnson's t.

Johnson, Modified t Tests and Confidence Intervals for Asymmetrical Populations, Journal of the American
Statistical Association 73(363), 1978, equation 2.1 with the mean under test 0.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import stdtr

from leaderboard.stats.pairs.condensed import differences
from leaderboard.stats.pairs.paired_t import PairedT

FloatArray = NDArray[np.float64]


class GuardedT(NamedTuple):
    """One value a pair, each (pairs,)."""

    t: FloatArray
    """Johnson's: (m + m3 / (6 s^2 T) + m3 m^2 / (3 s^4)) sqrt(T) / s, of mean m, variance s^2 and m3."""
    p: FloatArray
    """The larger of the two tests', two-sided, from 0 to 1."""


def guarded_t(scores: FloatArray, t: PairedT) -> GuardedT:
    """The guarded test of all pairs of runs: scores (runs, topics), and their paired t.

    The third moment m3 is the mean of the cubed deviations. A difference that is the same on every topic has
    no skew: there the paired t stands, as with one topic.

    >>> from leaderboard.stats.pairs.paired_t import paired_t
    >>> scores = np.array([[0.5, 0.4, 0.6, 0.4, 0.35], [0.2, 0.2, 0.3, 0.1, 0.3]])
    >>> plain = paired_t(scores)
    >>> guarded = guarded_t(scores, plain)
    >>> plain.p.round(4).tolist(), guarded.t.round(4).tolist(), guarded.p.round(4).tolist()
    ([0.0093], [2.2255], [0.0901])
    """
    topics = scores.shape[1]
    third = np.empty_like(t.difference)
    for block, difference in differences(scores):
        difference -= t.difference[block, None]
        third[block] = (difference**3).mean(axis=1)
    varies = t.sd > 0
    mean, sd = t.difference[varies], t.sd[varies]
    skew = third[varies] * (1 / (6 * sd**2 * topics) + mean**2 / (3 * sd**4))
    johnson = t.t.copy()
    johnson[varies] = (mean + skew) * np.sqrt(topics) / sd
    p = t.p.copy()
    p[varies] = np.maximum(p[varies], 2 * stdtr(topics - 1, -np.abs(johnson[varies])))
    return GuardedT(johnson, p)
