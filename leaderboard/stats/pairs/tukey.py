"""Tukey's honestly significant differences of runs on shared topics: all pairs in one two-way analysis.

Tukey, The Problem of Multiple Comparisons, 1953; for runs Carterette, Multiple Testing in Statistical
Analysis of Systems-Based Information Retrieval Experiments, ACM Transactions on Information Systems 30(1),
2012. Topics are blocks here; the form for independent samples, which statistics packages offer, is another
test and the wrong one for runs on the same topics.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from leaderboard.stats import special
from leaderboard.stats.pairs.anova import anova
from leaderboard.stats.pairs.condensed import pairs

FloatArray = NDArray[np.float64]

WIDEST = 30.0
"""The chance that a range of normal deviates is wider is below 1e-90 for any number of runs here."""
STEP = 0.0125
AT_ONCE = 4096


class Tukey(NamedTuple):
    """One value per pair, each (pairs,)."""

    q: FloatArray
    """The size of the difference over the standard error of a mean."""
    p: FloatArray
    """Adjusted: of the largest difference of all runs, if they were alike; from 0 to 1."""


def tukey_hsd(scores: FloatArray) -> Tukey:
    """All pairs of runs: scores (runs, topics), pairs as pairs() has them.

    Assumes that the differences of all pairs vary alike, which a few erratic runs break. Equal means have
    p 1; with one topic every pair has. Other means where runs and topics explain every score have p 0.

    >>> scores = np.array([[0.5, 0.4, 0.7, 0.2, 0.6], [0.4, 0.4, 0.5, 0.1, 0.5], [0.3, 0.5, 0.4, 0.2, 0.3]])
    >>> tukey_hsd(scores).p.round(6)
    array([0.286074, 0.114762, 0.795065])
    """
    n, topics = scores.shape
    analysis = anova(scores)
    first, second = pairs(n)
    means = scores.mean(axis=1)
    size = np.abs(means[first] - means[second])
    error = np.sqrt(analysis.residual_mean_square / topics)
    q = np.where(size > 0, np.inf, 0.0)
    if error > 0:
        q = size / error
    if analysis.residual_df == 0:
        return Tukey(q, np.ones_like(q))
    return Tukey(q, studentized_range_sf(q, n, analysis.residual_df))


def studentized_range_sf(q: FloatArray, runs: int, df: int) -> FloatArray:
    """The chance that the range of `runs` normal deviates over an estimate of their spread exceeds q.

    q is (values,), 0 or more; df are the estimate's degrees of freedom. Within 1e-8 of the exact value.
    Raises ValueError where runs is below 2 or df below 1.

    >>> studentized_range_sf(np.array([2.0, 4.0]), 3, 10).round(6)
    array([0.370545, 0.043349])
    """
    if runs < 2 or df < 1:
        raise ValueError(f"no range of {runs} deviates over a spread of {df} degrees of freedom")
    # Its logarithm bends little and keeps the digits of small chances.
    log_chance = np.log(_normal_range_sf(np.arange(0.0, WIDEST + 2.5 * STEP, STEP), runs))
    log_spread, weight = _spreads(df)
    spread = np.exp(log_spread)
    chance = np.empty_like(q)
    for start in range(0, len(q), AT_ONCE):
        part = slice(start, start + AT_ONCE)
        width = np.minimum(q[part, None] * spread, WIDEST)
        chance[part] = np.exp(_interpolated(log_chance, width)) @ weight
    chance[np.isinf(q)] = 0.0
    return np.clip(chance, 0.0, 1.0)


def _interpolated(log_chance: FloatArray, width: FloatArray) -> FloatArray:
    """The cubic through the two values on either side of each width; at 0 through the first four."""
    place = width / STEP
    start = np.maximum(place.astype(np.intp) - 1, 0)
    x = place - start
    a, b, c, d = (log_chance[start + step] for step in range(4))
    outer = d * x * (x - 1) * (x - 2) - a * (x - 1) * (x - 2) * (x - 3)
    inner = b * x * (x - 2) * (x - 3) - c * x * (x - 1) * (x - 3)
    value: FloatArray = outer / 6 + inner / 2
    return value


def _normal_range_sf(width: FloatArray, runs: int) -> FloatArray:
    """The chance that the range of normal deviates exceeds a width, (widths,), above 0.

    k times the integral over the least deviate z of phi(z) (Q(z)^(k-1) - (Q(z) - Q(z + w))^(k-1)), where Q
    is the chance of more. The trapezoid rule is as good as exact for it.
    """
    step = 0.1
    chance = np.zeros_like(width)
    for offset in np.arange(-12.0, 12.0 + step, step):
        # The ends of a wide range are at about half the width on either side of 0.
        least = offset - width / 2
        above, beyond = special.ndtr(-least), special.ndtr(-least - width)
        outside = -np.expm1((runs - 1) * np.log1p(-np.minimum(beyond / above, 1 - 1e-16)))
        chance += np.exp(-np.square(least) / 2) * above ** (runs - 1) * outside
    density: FloatArray = chance * (runs * step / np.sqrt(2 * np.pi))
    return np.minimum(density, 1.0)


def _spreads(df: int) -> tuple[FloatArray, FloatArray]:
    """Logarithms of the estimated over the true spread, and how likely each: a chi over its mean square."""
    low, high = (
        np.log([special.gammaincinv(df / 2, 1e-17), special.gammainccinv(df / 2, 1e-17)]) / 2
        - np.log(df / 2) / 2
    )
    step = min(0.15, 0.25 / np.sqrt(2 * df))
    log_spread = np.arange(low, high + step, step)
    density = np.exp(df * (log_spread - np.expm1(2 * log_spread) / 2))
    return log_spread, density / density.sum()
