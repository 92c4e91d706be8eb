"""The sign test of every pair of runs on shared topics: only who wins a topic counts, not by how much.

Dixon and Mood, The Statistical Sign Test, Journal of the American Statistical Association 41, 1946.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from leaderboard.stats import special
from leaderboard.stats.pairs.condensed import differences

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]


class Sign(NamedTuple):
    """One value per pair, each (pairs,)."""

    wins: IntArray
    """Topics the first run wins."""
    losses: IntArray
    p: FloatArray
    """Two-sided and exact, from 0 to 1."""
    smallest: FloatArray
    """The p if one run had won all topics without a tie: no smaller one was possible."""


def sign_test(scores: FloatArray, *, tie: float = 0.0) -> Sign:
    """The test of all pairs of runs: scores (runs, topics), pairs as pairs() has them.

    A topic on which two runs differ by tie or less is left out. Runs that tie on all have p 1.

    >>> result = sign_test(np.array([[0.5, 0.4, 0.7, 0.2, 0.6], [0.4, 0.4, 0.5, 0.1, 0.5]]))
    >>> int(result.wins[0]), int(result.losses[0]), float(result.p[0])
    (4, 0, 0.125)
    """
    n = len(scores)
    wins, losses = np.empty((2, n * (n - 1) // 2), dtype=np.int64)
    for block, difference in differences(scores):
        wins[block] = np.count_nonzero(difference > tie, axis=1)
        losses[block] = np.count_nonzero(difference < -tie, axis=1)
    decided = wins + losses
    return Sign(wins, losses, two_sided(np.minimum(wins, losses), decided), two_sided(0 * decided, decided))


def two_sided(fewer: IntArray, of: IntArray) -> FloatArray:
    """The exact p of counts alone: fewer wins of one side among those decided; 1 where none was.

    >>> two_sided(np.array([0, 1, 0]), np.array([4, 3, 0])).tolist()
    [0.125, 1.0, 1.0]
    """
    # The binomial's lower tail; without a decided topic both sides have a half.
    tail = special.betainc(np.maximum(of - fewer, 1), fewer + 1, 0.5)
    p: FloatArray = np.minimum(1.0, 2 * tail)
    return p
