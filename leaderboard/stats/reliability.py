"""Reliability, power and variance components of a board over topics.

The test is the two-sided paired t test: over T topics, a true mean difference d with standard deviation s
of the per-topic differences makes t noncentral with T - 1 degrees of freedom and noncentrality
d √T / s (Cohen, Statistical Power Analysis for the Behavioral Sciences, 1988; for topic sets Sakai, Topic
set size design, Information Retrieval Journal 19(3), 2016).

Generalizability theory of runs crossed with topics: Bodoff and Li, Test theory for assessing IR test
collections, SIGIR 2007; Urbano, Marrero and Martín, On the measurement of test collection reliability,
SIGIR 2013.

Each score is replaced by its position among the scores of a reference set of runs on its topic. Sources:
Webber, Moffat and Zobel, Score Standardization for Inter-Collection Comparison of Retrieval Systems,
SIGIR 2008 (normal); Sakai, A Simple and Effective Approach to Score Standardisation, ICTIR 2016
(uniform); Urbano, Lima and Hanjalic, A New Perspective on Score Standardization, SIGIR 2019 (empirical).
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from math import ceil, sqrt
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from leaderboard.stats import special
from leaderboard.stats.orders.rank_correlation import pair_signs, taus
from leaderboard.stats.pairs.anova import anova
from leaderboard.stats.pairs.paired_t import paired_t
from leaderboard.stats.seeds import orders, stream

MOST_TOPICS = 10_000_000
APPROXIMATE_FROM = 200
_OFF = 12
_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(16)
_MANY_NODES, _MANY_WEIGHTS = np.polynomial.legendre.leggauss(64)
_SECANTS = 6
_WIDTH = 9.0  # standard deviations: beyond them lies 2e-19 of a normal distribution


@dataclass(frozen=True, slots=True)
class Sensitivity:
    """The sensitivity of a board's topics, in units of its measure.

    `sd` is the median over pairs of runs of the standard deviation of their differences. `planned` is the
    smallest true difference that a test of one pair, chosen beforehand, finds with the wanted power; `any`
    the smallest for a pair about which nothing is known beforehand, tested as boards do, at half of alpha
    over the number of pairs. `planned_topics` and `any_topics` would find half of each. `half_width` is that
    of the usual interval.
    """

    power: float
    alpha: float
    topics: int
    pairs: int
    sd: float
    planned: float
    any: float
    planned_topics: int
    any_topics: int
    half_width: float


def power(difference: float, sd: float, topics: int, *, alpha: float = 0.05) -> float:
    """The probability, 0 to 1, that the two-sided paired t test finds a true difference at level alpha.

    Raises ValueError for a negative sd, or fewer than two topics. Without any spread every difference is
    found, as its p is 0.

    >>> round(power(0.05, 0.2, 50), 6)
    0.410381
    """
    _check(sd, topics)
    if sd == 0:
        return float(difference != 0)
    noncentrality = abs(difference) / sd * sqrt(topics)
    return _power(noncentrality, topics - 1, _critical(topics - 1, alpha))


def one_sided_power(difference: float, sd: float, topics: int, *, alpha: float = 0.05) -> float:
    """The probability, 0 to 1, that a one-sided paired t test finds a true difference above 0 at level alpha.

    Raises ValueError as power does; below 0 the difference is one of the other side.

    >>> round(one_sided_power(0.05, 0.2, 50), 6), round(one_sided_power(0.0, 0.2, 50), 6)
    (0.539205, 0.05)
    """
    _check(sd, topics)
    if sd == 0:
        return float(difference > 0)
    return min(_above(difference / sd * sqrt(topics), topics - 1, _critical(topics - 1, 2 * alpha)), 1.0)


def topics_needed(difference: float, sd: float, *, power: float = 0.8, alpha: float = 0.05) -> int:
    """The fewest topics, at least 2, with which the paired t test finds a true difference so often.

    Raises ValueError for a negative sd, a difference of 0, or one so small relative to sd that ten million
    topics do not do.

    >>> topics_needed(0.05, 0.2)
    128
    """
    _check(sd, 2)
    if difference == 0:
        raise ValueError("no number of topics shows a difference of 0")
    if sd == 0:
        return 2
    effect = abs(difference) / sd

    def enough(topics: int) -> bool:
        return _power(effect * sqrt(topics), topics - 1, _critical(topics - 1, alpha)) >= power

    return _fewest(enough, int(_approximate(np.array([effect]), power, alpha)[0]))


def fewest_topics(
    effects: NDArray[np.float64], least: int = 2, *, power: float = 0.8, alpha: float = 0.05
) -> NDArray[np.int64]:
    """As topics_needed, of many effects (n,) at once, differences over their sd above 0; least at least.

    From APPROXIMATE_FROM on within a topic, by Guenther, Sample Size Formulas for Normal Theory T Tests,
    American Statistician 35(4), 1981.

    >>> fewest_topics(np.array([0.25, 0.5, 0.1])).tolist()
    [128, 34, 787]
    """
    needed = _approximate(effects, power, alpha)
    few = needed < APPROXIMATE_FROM
    if few.any():
        near = needed[few]
        topics = np.arange(max(least, near.min() - _OFF), max(least, near.max()) + 3)
        # The more topics, the smaller the effect that they show.
        needed[few] = topics[0] + np.searchsorted(-_shown_effects(topics, power, alpha), -effects[few])
    return np.maximum(needed, least)


def _approximate(effects: NDArray[np.float64], power: float, alpha: float) -> NDArray[np.int64]:
    """Guenther's topics, ten million at most; for small levels up to _OFF too many where few are needed."""
    bound = float(special.ndtri(1 - alpha / 2))
    topics = ((bound + float(special.ndtri(power))) / effects) ** 2 + bound**2 / 2
    return np.ceil(np.minimum(topics, MOST_TOPICS)).astype(np.int64)


def _shown_effects(topics: NDArray[np.int64], power: float, alpha: float) -> NDArray[np.float64]:
    """The smallest effects that this number of topics, (n,), shows with this power, by secants."""
    freedom = np.asarray(topics - 1, dtype=np.float64)
    critical: NDArray[np.float64] = -special.stdtrit(freedom, alpha / 2)
    # Nearly normal: the normal deviate less the critical value times an independent deviation.
    spread = np.sqrt(1 + critical**2 / (2 * freedom))
    before, now = (critical + (float(special.ndtri(power)) + step) * spread for step in (0.05, 0.0))
    missed = _powers(before, freedom, critical) - power
    for _ in range(_SECANTS):
        off = _powers(now, freedom, critical) - power
        slope = off - missed
        moved = np.divide(off * (now - before), slope, out=np.zeros_like(off), where=slope != 0)
        before, now, missed = now, now - moved, off
    effects: NDArray[np.float64] = now / np.sqrt(topics)
    return effects


def _powers(
    noncentrality: NDArray[np.float64], freedom: NDArray[np.float64], critical: NDArray[np.float64]
) -> NDArray[np.float64]:
    """As _power, of many tests at once: the normal distribution integrated over that of the deviation.

    Only there it is neither 0 nor 1 and the deviation is possible: a stretch with few bends.
    """
    width = _WIDTH / np.sqrt(2 * freedom)
    total = np.zeros_like(noncentrality)
    for shift in (noncentrality, -noncentrality):
        low = np.maximum((shift - _WIDTH) / critical, np.maximum(1 - width, 0))
        high = np.maximum(np.minimum((shift + _WIDTH) / critical, 1 + width), low)
        half = ((high - low) / 2)[:, None]
        s = low[:, None] + half * (1 + _MANY_NODES)
        of = freedom[:, None]
        with np.errstate(divide="ignore"):
            log_density = special.xlogy(of - 1, s) - of * s * s / 2
        log_density += (np.log(2) + freedom / 2 * np.log(freedom / 2) - special.gammaln(freedom / 2))[:, None]
        values = np.exp(log_density) * special.ndtr(shift[:, None] - critical[:, None] * s)
        total += (values * _MANY_WEIGHTS * half).sum(axis=1) + special.chdtr(freedom, freedom * low * low)
    return total


def smallest_difference(sd: float, topics: int, *, power: float = 0.8, alpha: float = 0.05) -> float:
    """The smallest true difference, 0 or more, that the paired t test finds with this power.

    Raises ValueError for a negative sd, fewer than two topics or power not above alpha.

    >>> round(smallest_difference(0.2, 50), 6)
    0.080837
    """
    _check(sd, topics)
    if not alpha < power < 1:
        raise ValueError("the power lies between alpha and 1")
    return _noncentrality(topics - 1, power, alpha) * sd / sqrt(topics)


def half_width(sd: float, topics: int, *, confidence: float = 0.95) -> float:
    """Half the width of the t interval around a mean of differences with standard deviation sd.

    Raises ValueError for a negative sd, or fewer than two topics.

    >>> round(half_width(0.2, 50), 6)
    0.056839
    """
    _check(sd, topics)
    return _critical(topics - 1, 1 - confidence) * sd / sqrt(topics)


def sensitivity(scores: NDArray[np.float64], *, power: float = 0.8, alpha: float = 0.05) -> Sensitivity:
    """The sensitivity of a board's topics, scores (n runs, T topics).

    Raises ValueError for fewer than two runs or topics.

    >>> board = sensitivity(np.array([[0.5, 0.4, 0.7, 0.2, 0.6], [0.4, 0.4, 0.5, 0.1, 0.5]]))
    >>> round(board.sd, 4), round(board.planned, 4), board.planned_topics, board.pairs
    (0.0707, 0.1189, 14, 1)
    """
    runs, topics = scores.shape
    if runs < 2 or topics < 2:
        raise ValueError("a board shows what its topics separate from two runs and two topics on")
    count = runs * (runs - 1) // 2
    sd = float(np.median(paired_t(scores).sd))
    planned = smallest_difference(sd, topics, power=power, alpha=alpha)
    any_pair = smallest_difference(sd, topics, power=power, alpha=alpha / 2 / count)
    return Sensitivity(
        power=power,
        alpha=alpha,
        topics=topics,
        pairs=count,
        sd=sd,
        planned=planned,
        any=any_pair,
        planned_topics=_topics_for_half(topics, power, alpha),
        any_topics=_topics_for_half(topics, power, alpha / 2 / count),
        half_width=half_width(sd, topics, confidence=1 - alpha),
    )


def _topics_for_half(topics: int, power: float, alpha: float) -> int:
    """The fewest topics that find half of what these find; the spread of differences cancels out."""
    half = smallest_difference(1.0, topics, power=power, alpha=alpha) / 2
    return topics_needed(half, 1.0, power=power, alpha=alpha)


def _check(sd: float, topics: int) -> None:
    if sd < 0:
        raise ValueError("a standard deviation is 0 or more")
    if topics < 2:
        raise ValueError("a paired t test needs at least two topics")


def _fewest(enough: Callable[[int], bool], near: int) -> int:
    """The smallest number of topics that is enough, where more never does worse, sought from near it."""
    step, low, high = 1, 1, min(max(2, near), MOST_TOPICS)
    if enough(high):
        while high - step > 1 and enough(high - step):
            step, high = 2 * step, high - step
        low = max(1, high - step)
    else:
        low, high = high, high + step
        while not enough(high):
            step, low, high = 2 * step, high, high + 2 * step
            if high > MOST_TOPICS:
                raise ValueError("more than ten million topics would be needed")
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if enough(middle) else (middle, high)
    return high


@lru_cache(maxsize=256)
def _noncentrality(freedom: int, power: float, alpha: float) -> float:
    """The noncentrality at which the test at level alpha has this power."""
    critical = _critical(freedom, alpha)
    high = critical + 10.0
    while _power(high, freedom, critical) < power:
        high *= 2
    # Loaded where it is needed: every site and command would pay a fifth of a second for it at its start.
    from scipy.optimize import brentq

    root: float = brentq(lambda nc: _power(nc, freedom, critical) - power, 0.0, high, xtol=1e-12)
    return root


def _critical(freedom: int, alpha: float) -> float:
    return -float(special.stdtrit(freedom, alpha / 2))


def _power(noncentrality: float, freedom: int, critical: float) -> float:
    beyond = _above(noncentrality, freedom, critical) + _above(-noncentrality, freedom, critical)
    return min(beyond, 1.0)


def _above(noncentrality: float, freedom: int, critical: float) -> float:
    """The probability that a noncentral t exceeds a critical value above 0.

    Integrates the chi-square distribution over the normal one. SciPy's nctdtr is NaN for one degree of
    freedom and the critical values of small levels, and in older versions wrong by up to 0.03.
    """
    low, high = max(-noncentrality, -_WIDTH), _WIDTH
    if low >= high:
        return 0.0
    # Pieces must be narrower than the step of the integrand, which steepens with the degrees of freedom.
    pieces = ceil((high - low) * (1 + sqrt(2 * freedom) / critical))
    half = (high - low) / pieces / 2
    z = np.linspace(low, high, pieces, endpoint=False)[:, None] + half * (1 + _NODES)
    density = np.exp(-z * z / 2) / sqrt(2 * np.pi)
    values = density * special.chdtr(freedom, freedom * ((z + noncentrality) / critical) ** 2)
    return float((values * _WEIGHTS).sum() * half)


FloatArray = NDArray[np.float64]
_BLOCK = 1 << 20  # numbers in a temporary array


@dataclass(frozen=True, slots=True)
class Reliability:
    """Variance components and the coefficients derived from them.

    `runs`, `topics` and `residual` are the variances, 0 or more, between runs, between topics, and what is
    left. `order` is E ρ², the share of variance between observed means that is due to the runs, for the
    order of the runs; `absolute` is Φ, the same for the means themselves, which the difficulty of the
    topics moves too. Both are between 0 and 1 and are 0 where runs do not differ.
    """

    runs: float
    topics: float
    residual: float
    order: float
    absolute: float

    def topics_for_order(self, share: float = 0.95) -> int | None:
        """The fewest topics that give E ρ² of at least share, above 0 and below 1; None if none do."""
        if self.runs == 0:
            return None
        return max(1, ceil(share / (1 - share) * self.residual / self.runs - 1e-9))


@dataclass(frozen=True, slots=True)
class SplitHalf:
    """Kendall's τ_b between the orders by two random halves of the topics, over many splits.

    `low` and `high` are the 5th and the 95th percentile.
    """

    median: float
    low: float
    high: float
    splits: int


def reliability(scores: FloatArray) -> Reliability:
    """Variance components, E ρ² and Φ of scores (n runs, T topics).

    Components come from the mean squares of the two-way analysis of variance; one that comes out negative
    is 0. Raises ValueError for fewer than two runs or two topics.

    >>> components = reliability(np.array([[5, 4, 7, 2, 6], [4, 4, 5, 1, 5], [3, 5, 4, 2, 3]]) / 10)
    >>> round(components.order, 6), round(components.absolute, 6), components.topics_for_order()
    (0.641026, 0.393701, 54)
    """
    runs, topics = _shape(scores)
    table = anova(scores)
    # F tells a difference between runs from rounding.
    between_runs = (table.runs_mean_square - table.residual_mean_square) / topics if table.f > 1 else 0.0
    between_topics = max((table.topics_mean_square - table.residual_mean_square) / runs, 0.0)
    residual = table.residual_mean_square
    return Reliability(
        runs=between_runs,
        topics=between_topics,
        residual=residual,
        order=_share(between_runs, residual / topics),
        absolute=_share(between_runs, (between_topics + residual) / topics),
    )


def split_half(scores: FloatArray, *, seed: int, splits: int = 1000) -> SplitHalf:
    """The agreement of the orders of runs by two halves of the topics, scores (n runs, T topics).

    The whole set of topics is twice as large, so that two whole sets would agree better. Of an odd number of
    topics each split leaves one out. A half on which all runs score alike has τ 0. The same seed gives
    the same splits for ever. Raises ValueError for fewer than two runs or two topics.

    Three runs that all topics order alike:

    >>> split_half(np.array([[3.0, 6, 9, 12], [2, 5, 8, 11], [1, 4, 7, 10]]), seed=1, splits=10)
    SplitHalf(median=1.0, low=1.0, high=1.0, splits=10)
    """
    runs, topics = _shape(scores)
    source = stream(seed)
    block = max(1, _BLOCK // max(topics, runs * (runs - 1) // 2))
    correlations = []
    for start in range(0, splits, block):
        shape = (min(block, splits - start), topics)
        order = orders(source, *shape)
        halves = []
        for chosen in (order[:, : topics // 2], order[:, topics // 2 : topics // 2 * 2]):
            member = np.zeros(shape)
            np.put_along_axis(member, chosen, 1.0, axis=1)
            halves.append(pair_signs(member @ scores.T))
        correlations.append(taus(*halves))
    low, median, high = np.quantile(np.concatenate(correlations), [0.05, 0.5, 0.95])
    return SplitHalf(median=float(median), low=float(low), high=float(high), splits=splits)


def _shape(scores: FloatArray) -> tuple[int, int]:
    runs, topics = scores.shape
    if runs < 2 or topics < 2:
        raise ValueError("a board's reliability needs at least two runs and two topics")
    return runs, topics


def _share(signal: float, noise: float) -> float:
    return signal / (signal + noise) if signal > 0 else 0.0


Form = Literal["normal", "uniform", "empirical"]

SLOPE, CENTRE = 0.15, 0.5
"""Sakai's constants: scores within 10/3 standard deviations of the mean keep their distances."""


def standardised(scores: FloatArray, form: Form, *, reference: FloatArray | None = None) -> FloatArray:
    """The scores (n runs, T topics) standardised, float64 (n, T), from 0 to 1.

    reference (m runs, T topics) gives the usual scores on each topic; without it the scores themselves do.
    Freeze it where boards of different days are to be compared. With z = (score - mean) / sd over the
    reference, sd with m - 1:

    - normal: the share of a normal distribution below z;
    - uniform: 0.15 z + 0.5, cut at 0 and 1;
    - empirical: the share of reference runs that score at most as high.

    Where all reference runs score the same, or there is only one, z is the score itself. Raises
    ValueError where the numbers of topics differ or the reference has no run.

    >>> standardised(np.array([[0.1], [0.2], [0.3]]), "uniform")
    array([[0.35],
           [0.5 ],
           [0.65]])
    """
    basis = scores if reference is None else reference
    if basis.shape[1] != scores.shape[1]:
        raise ValueError(f"{scores.shape[1]} topics cannot be standardised by {basis.shape[1]}")
    if len(basis) == 0:
        raise ValueError("scores cannot be standardised without reference runs")
    if form == "empirical":
        return _share_below(scores, basis)
    z = _deviations(scores, basis)
    return np.asarray(special.ndtr(z)) if form == "normal" else np.clip(SLOPE * z + CENTRE, 0.0, 1.0)


def _deviations(scores: FloatArray, basis: FloatArray) -> FloatArray:
    # Equal scores may have a tiny deviation from their rounded mean, so equality is asked directly.
    varied = (basis != basis[0]).any(axis=0)
    mean = np.where(varied, basis.mean(axis=0), 0.0)
    spread = np.where(varied, basis.std(axis=0, ddof=min(1, len(basis) - 1)), 1.0)
    return (scores - mean) / spread


def _share_below(scores: FloatArray, basis: FloatArray) -> FloatArray:
    ordered = np.sort(basis, axis=0)
    columns = [
        np.searchsorted(ordered[:, topic], scores[:, topic], side="right") for topic in range(scores.shape[1])
    ]
    return np.array(columns, dtype=np.float64).reshape(scores.shape[::-1]).T / len(basis)


FEWEST_RUNS = 3
"""Of two runs every correlation is 1 or -1."""

MaskedArray = np.ma.MaskedArray[tuple[int], np.dtype[np.float64]]


def discrimination(scores: FloatArray) -> MaskedArray:
    """The item-rest correlation of every topic, masked (topics,), between -1 and 1.

    scores: (runs, topics). The correlation over runs of their scores on the topic with their means over all
    other topics: near 1 where the topic orders runs as the others do, near 0 where it says nothing about
    them, below 0 where it orders them the other way round. Masked where it is not defined: fewer than 3 runs,
    a single topic, or no differences between runs on either side; `.tolist()` has None there. Source: Bodoff,
    Test Theory for Evaluating Reliability of IR Test Collections, Information Processing and Management
    44(3), 2008 (item analysis).

    The third topic is against the other two:

    >>> discrimination(np.array([[0.1, 0.2, 0.9], [0.2, 0.3, 0.5], [0.3, 0.4, 0.6]])).round(2).tolist()
    [-0.33, -0.33, -0.72]
    """
    runs, topics = scores.shape
    if runs < FEWEST_RUNS or topics < 2:
        return _nothing(topics)
    rest = (scores.sum(axis=1, keepdims=True) - scores) / (topics - 1)
    own, others = _standardised(scores), _standardised(rest)
    correlation = np.clip((own * others).sum(axis=0), -1.0, 1.0)
    return np.ma.array(correlation, mask=~(own.any(axis=0) & others.any(axis=0)))


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
