"""What the scores make likely of the mean difference of two runs, for those who would rather not test.

Carterette, Bayesian Inference for Information Retrieval Evaluation, ICTIR 2015; Benavoli, Corani, Demšar and
Zaffalon, Time for a Change: a Tutorial for Comparing Multiple Classifiers Through Bayesian Analysis, Journal
of Machine Learning Research 18(77), 2017.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import stdtr

from leaderboard.stats.pairs.paired_t import paired_t

FloatArray = NDArray[np.float64]


class Posterior(NamedTuple):
    """Probabilities of the mean difference, first run less second, each (pairs,); they sum to 1."""

    worse: FloatArray
    """That it is below -rope."""
    equal: FloatArray
    """That it is from -rope to rope."""
    better: FloatArray
    """That it is above rope."""


def posterior(scores: FloatArray, *, rope: float) -> Posterior:
    """The probabilities of all pairs of runs: scores (runs, topics), pairs as pairs() has them.

    Differences are taken for normal and nothing is presumed of their mean and spread: then the mean is
    distributed as t around the observed one. rope is the largest difference of no practical matter, in
    units of the scores. Differences that are the same on every topic leave no doubt. Raises ValueError
    where there are fewer than two topics or rope is negative.

    >>> probabilities = posterior(np.array([[0.5, 0.4, 0.7, 0.2, 0.6], [0.4, 0.4, 0.5, 0.1, 0.5]]), rope=0.01)
    >>> [round(float(probability[0]), 6) for probability in probabilities]
    [0.012693, 0.010598, 0.976709]
    """
    topics = scores.shape[1]
    if topics < 2:
        raise ValueError("one topic says nothing of how differences vary, so nothing is likely or unlikely")
    if rope < 0:
        raise ValueError(f"a difference of {rope} is not a size")
    t = paired_t(scores)
    worse, better = (_tail(-sign * t.difference - rope, t.sd, topics) for sign in (1, -1))
    return Posterior(worse, np.maximum(0.0, 1 - worse - better), better)


def _tail(excess: FloatArray, sd: FloatArray, topics: int) -> FloatArray:
    """The probability of more than a bound that lies so far below the observed mean, (pairs,)."""
    error = sd / np.sqrt(topics)
    t = np.copysign(np.inf, excess)
    t[excess == 0] = -np.inf
    np.divide(excess, error, out=t, where=error > 0)
    tail: FloatArray = stdtr(topics - 1, t)
    return tail
