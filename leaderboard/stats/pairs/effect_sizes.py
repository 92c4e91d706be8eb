"""How large the differences of runs are, whatever the number of topics.

Cohen, Statistical Power Analysis for the Behavioral Sciences, 2nd edition, 1988; for runs Sakai, Statistical
Reform in Information Retrieval?, SIGIR Forum 48(1), 2014.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from leaderboard.stats.pairs.condensed import differences, pairs
from leaderboard.stats.pairs.paired_t import paired_t

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]

TIE = 1e-9
"""A smaller difference on a topic is none."""


class EffectSizes(NamedTuple):
    """One value a pair, first run less second, each (pairs,)."""

    d_z: FloatArray
    """The mean difference over the standard deviation of the differences: of the paired design."""
    g_z: FloatArray
    """d_z times 1 - 3 / (4 df - 1), which makes up for its bias with few topics (Hedges)."""
    d_av: FloatArray
    """The mean difference over the root of the mean variance of the two runs' scores."""
    wins: IntArray
    """Topics on which the first run is better."""
    ties: IntArray
    losses: IntArray
    superiority: FloatArray
    """The share of topics won, ties counted half, from 0 to 1."""


def effect_sizes(scores: FloatArray) -> EffectSizes:
    """The effect sizes of all pairs of runs: scores (runs, topics), pairs as pairs() has them.

    Without any spread an effect size is infinite, or 0 where there is no difference either.

    >>> effects = effect_sizes(np.array([[0.5, 0.4, 0.7, 0.2, 0.6], [0.4, 0.4, 0.5, 0.1, 0.5]]))
    >>> round(float(effects.d_z[0]), 6), round(float(effects.d_av[0]), 6), float(effects.superiority[0])
    (1.414214, 0.559017, 0.9)
    """
    n, topics = scores.shape
    t = paired_t(scores)
    d_z = t.t / np.sqrt(topics)
    g_z = np.multiply(d_z, 1 - 3 / (4 * (topics - 1) - 1), out=d_z.copy(), where=np.isfinite(d_z))
    first, second = pairs(n)
    variance = scores.var(axis=1, ddof=1) if topics > 1 else np.zeros(n)
    spread = np.sqrt((variance[first] + variance[second]) / 2)
    d_av = np.where(t.t == 0, 0.0, np.copysign(np.inf, t.difference))
    np.divide(t.difference, spread, out=d_av, where=spread > 0)
    wins, losses = np.empty((2, len(first)), dtype=np.int64)
    for block, difference in differences(scores):
        wins[block] = np.count_nonzero(difference >= TIE, axis=1)
        losses[block] = np.count_nonzero(difference <= -TIE, axis=1)
    ties = topics - wins - losses
    return EffectSizes(d_z, g_z, d_av, wins, ties, losses, (wins + ties / 2) / topics)
