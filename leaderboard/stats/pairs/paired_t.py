"""The paired t test of every pair of runs on shared topics, with the interval of the mean difference.

Student, The Probable Error of a Mean, Biometrika 6(1), 1908; for runs on topics Urbano, Lima and Hanjalic,
Statistical Significance Testing in Information Retrieval, SIGIR 2019.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from leaderboard.stats import special
from leaderboard.stats.pairs.condensed import differences

FloatArray = NDArray[np.float64]

ROUNDING = 16 * np.finfo(np.float64).eps
"""Relative variation below which scores count as constant: the rest is rounding."""


class PairedT(NamedTuple):
    """One value per pair, first run less second, each (pairs,)."""

    difference: FloatArray
    """Of the means."""
    sd: FloatArray
    """Standard deviation of the differences by topic, over topics - 1; 0 where they are constant."""
    t: FloatArray
    p: FloatArray
    """Two-sided, from 0 to 1."""
    low: FloatArray
    high: FloatArray
    """The interval of the mean difference."""


def paired_t(scores: FloatArray, *, confidence: float = 0.95) -> PairedT:
    """The paired t test of all pairs of runs: scores (runs, topics), pairs as pairs() has them.

    Runs with the same scores have t 0 and p 1. A difference that is the same on every topic has an
    infinite t and p 0. One topic does not show the spread: t 0, p 1 and an interval without ends.
    Raises ValueError without topics, or if the confidence is not between 0 and 1.

    >>> result = paired_t(np.array([[0.5, 0.4, 0.7, 0.2, 0.6], [0.4, 0.4, 0.5, 0.1, 0.5]]))
    >>> [round(float(values[0]), 6) for values in result]
    [0.1, 0.070711, 3.162278, 0.034109, 0.012201, 0.187799]
    """
    topics = scores.shape[1]
    if topics < 1:
        raise ValueError("runs without a topic cannot be compared")
    if not 0 < confidence < 1:
        raise ValueError(f"a confidence of {confidence} is not between 0 and 1")
    difference, sd = _means_and_sds(scores)
    if topics == 1:
        nothing, no_end = np.zeros_like(sd), np.full_like(sd, np.inf)
        return PairedT(difference, sd, nothing, np.ones_like(sd), -no_end, no_end)
    error = sd / np.sqrt(topics)
    t = np.where(np.abs(difference) <= _rounding(scores), 0.0, np.copysign(np.inf, difference))
    np.divide(difference, error, out=t, where=error > 0)
    half = special.stdtrit(topics - 1, (1 + confidence) / 2) * error
    return PairedT(
        difference, sd, t, 2 * special.stdtr(topics - 1, -np.abs(t)), difference - half, difference + half
    )


def _means_and_sds(scores: FloatArray) -> tuple[FloatArray, FloatArray]:
    n, topics = scores.shape
    mean, sd = np.empty((2, n * (n - 1) // 2))
    for block, difference in differences(scores):
        mean[block] = difference.mean(axis=1)
        difference -= mean[block, None]
        sd[block] = np.sqrt(np.einsum("pt,pt->p", difference, difference) / max(1, topics - 1))
    sd[sd <= _rounding(scores)] = 0.0
    return mean, sd


def _rounding(scores: FloatArray) -> float:
    return float(ROUNDING * np.abs(scores).max(initial=0.0))
