"""Whether a run is better than a baseline, no worse, or worse, against a margin that is allowed.

The difference is the run's mean less the baseline's, positive where the run is better. With a margin from 0
on, three one-sided paired tests at level 5 % give one verdict:

- *better*: the difference is above 0 (superiority);
- *no worse*: the difference is above -margin (non-inferiority);
- *worse*: the difference is below -margin (inferiority);
- *cannot tell*: none of the three.

Walker and Nowacki, Understanding Equivalence and Noninferiority Testing, Journal of General Internal
Medicine 26(2), 2011, for the tests and their interval; Piaggio, Elbourne, Pocock, Evans and Altman, Reporting
of Noninferiority and Equivalence Randomized Trials, JAMA 308(24), 2012, for what an interval on either side
of the margin means; Morikawa and Yoshida, A Useful Testing Strategy in Phase III Trials, Journal of
Biopharmaceutical Statistics 5(3), 1995, for asking for superiority after non-inferiority without a
correction. The first two tests are Student's. The third also has to hold by Hall's t, which allows for skew:
Hall, On the Removal of Skewness by Transformation, Journal of the Royal Statistical Society B 54(1), 1992.
Johnson's, which boards use for that, cannot be turned into an interval.

Power and topics: Sakai, Topic Set Size Design, Information Retrieval Journal 19(3), 2016, for one side.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import cbrt, sqrt
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from leaderboard.stats import special
from leaderboard.stats.pairs.corrections import holm
from leaderboard.stats.pairs.paired_t import ROUNDING
from leaderboard.stats.reliability import fewest_topics, one_sided_power
from leaderboard.stats.standing import MOST_TIMES, POWER

FloatArray = NDArray[np.float64]
BoolArray = NDArray[np.bool_]
Verdict = Literal["better", "no worse", "worse", "cannot tell"]

ALPHA = 0.05
"""Level of each of the three tests, over all comparisons of one gate."""
VERSION = 1
"""Grows when the same scores give another verdict or other numbers."""
_STRAIGHT = 1e-6
"""Below this curvature the inverse of Hall's transformation is replaced by its first two terms."""


@dataclass(frozen=True, slots=True)
class Compared:
    """One run and the baseline by one measure: scores (topics,) as the measure prints them."""

    run: FloatArray
    baseline: FloatArray
    margin: float
    """Margin by which the run's mean may be worse (lower, or higher where lower is better); 0 or more."""
    lower_is_better: bool = False


class Three(NamedTuple):
    """One value for each of the three tests."""

    better: float
    no_worse: float
    worse: float

    def verdict(self) -> Verdict:
        """Verdict of the corrected p of the tests."""
        if self.better < ALPHA:
            return "better"
        if self.no_worse < ALPHA:
            return "no worse"
        return "worse" if self.worse < ALPHA else "cannot tell"


class Moments(NamedTuple):
    """Of the differences by topic, positive where the run is better."""

    topics: int
    mean: float
    sd: float
    """0 where they are the same on every topic."""
    skew: float
    rounding: float
    """A difference of at most this counts as 0."""


@dataclass(frozen=True, slots=True)
class Gated:
    """Result for one run; differences are the run less the baseline, as the measure prints them."""

    verdict: Verdict
    margin: float
    run: float
    baseline: float
    difference: float
    low: float | None
    high: float | None
    """The interval that agrees with the verdict; None with one topic, and where the difference never varies.

    Each end is a one-sided bound at the level at which Holm's correction decided its test.
    """
    is_loss: bool
    """Whether the run is significantly worse than the baseline, by however little."""
    p: Three
    """Corrected by Holm over all comparisons of the gate."""
    levels: Three
    """At which Holm's correction decided each test."""
    moments: Moments

    @property
    def topics(self) -> int:
        """Number of topics behind the verdict."""
        return self.moments.topics

    @property
    def is_constant(self) -> bool:
        """Whether the difference is the same on every topic."""
        return self.low is None and self.topics > 1

    @property
    def power(self) -> float | None:
        """Probability of *no worse* for a run as good as the baseline with as many topics like these, 0 to 1.

        None with one topic.
        """
        if self.topics == 1:
            return None
        if self.is_constant:
            return float(self.margin > 0)
        return one_sided_power(self.margin, self.moments.sd, self.topics, alpha=self.levels.no_worse)

    @property
    def topics_for_power(self) -> int | None:
        """The fewest topics with which that is 80 %; None where a hundred times the topics are too few."""
        if self.low is None or not self.margin:
            return None
        return _within_reach(self.margin / self.moments.sd, 2, self.topics, self.levels.no_worse)

    @property
    def topics_needed(self) -> int | None:
        """Topics that would settle a *cannot tell* with 80 % power if the difference stays; None as above."""
        excess = self.moments.mean + self.margin
        if self.low is None or self.verdict != "cannot tell" or abs(excess) <= self.moments.rounding:
            return None
        level = self.levels.no_worse if excess > 0 else self.levels.worse
        return _within_reach(abs(excess) / self.moments.sd, self.topics + 1, self.topics, level)


def gate(compared: Sequence[Compared]) -> tuple[Gated, ...]:
    """The verdicts on all comparisons of one gate, under Holm's correction over them for each of the tests.

    So the chance of any false *worse* is at most 5 %, as is that of any *no worse* for a run that is
    worse by the margin or more, and that of any false *better*. Differences that are the same on every topic
    leave no chance: they are what they are. One topic cannot tell. Raises ValueError for no comparison, no
    topic, or a margin below 0.

    >>> old = np.array([0.5, 0.4, 0.7, 0.2, 0.6, 0.3])
    >>> new = old + np.array([0.01, -0.02, 0.0, 0.02, 0.01, -0.01])
    >>> (found,) = gate([Compared(new, old, margin=0.02)])
    >>> found.verdict, round(found.low, 4), round(found.high, 4), round(found.power, 4)
    ('no worse', -0.0104, 0.0138, 0.884)
    """
    if not compared:
        raise ValueError("a gate needs a run to compare")
    moments = [_moments(each) for each in compared]
    single = [_p_values(of, each.margin) for of, each in zip(moments, compared, strict=True)]
    p = [np.array(values) for values in zip(*single, strict=True)]
    adjusted = [holm(values) for values in p]
    levels = [_levels(values, of < ALPHA) for values, of in zip(p, adjusted, strict=True)]
    return tuple(
        _gated(
            each,
            moments[at],
            Three(*(float(values[at]) for values in adjusted)),
            Three(*(float(values[at]) for values in levels)),
        )
        for at, each in enumerate(compared)
    )


def _moments(compared: Compared) -> Moments:
    difference = compared.run - compared.baseline
    if compared.lower_is_better:
        difference = -difference
    topics = len(difference)
    if topics < 1:
        raise ValueError("runs without a topic cannot be compared")
    if not compared.margin >= 0:
        raise ValueError(f"a margin of {compared.margin} is not 0 or more")
    mean = float(difference.mean())
    rounding = float(ROUNDING * max(np.abs(compared.run).max(), np.abs(compared.baseline).max()))
    deviations = difference - mean
    sd = float(np.sqrt((deviations**2).sum() / max(1, topics - 1)))
    if sd <= rounding:
        sd = 0.0
    skew = float((deviations**3).mean() / sd**3) if sd else 0.0
    return Moments(topics, mean, sd, skew, rounding)


def _p_values(of: Moments, margin: float) -> Three:
    if of.topics == 1:
        return Three(1.0, 1.0, 1.0)
    excess = of.mean + margin
    if of.sd == 0:
        return Three(*(float(beyond <= of.rounding) for beyond in (of.mean, excess, -excess)))
    freedom, root = of.topics - 1, sqrt(of.topics)
    better, no_worse, worse = (
        float(special.stdtr(freedom, root * beyond / of.sd)) for beyond in (-of.mean, -excess, excess)
    )
    hall = float(special.stdtr(freedom, root * _transformed(excess / of.sd, of.skew, of.topics)))
    return Three(better, no_worse, max(worse, hall))


def _transformed(excess: float, skew: float, topics: int) -> float:
    """Hall's transformation of a mean in standard deviations, which skews it less."""
    curved = skew * excess
    return excess * (1 + curved / 3 + curved * curved / 27) + skew / (6 * topics)


def _excess(transformed: float, skew: float, topics: int) -> float:
    """The inverse: the mean, in standard deviations, of which that is the transformation."""
    straight = transformed - skew / (6 * topics)
    if abs(skew * straight) < _STRAIGHT:
        return straight * (1 - skew * straight / 3)
    return 3 / skew * (cbrt(1 + skew * straight) - 1)


def _levels(p: FloatArray, is_rejected: BoolArray) -> FloatArray:
    """The level at which Holm's correction decided each test: one of several that are left has the last."""
    rank = np.empty(len(p), dtype=np.int64)
    rank[np.argsort(p, kind="stable")] = np.arange(len(p))
    step = np.where(is_rejected, rank, np.count_nonzero(is_rejected))
    levels: FloatArray = ALPHA / (len(p) - step)
    return levels


def _gated(compared: Compared, of: Moments, p: Three, levels: Three) -> Gated:
    verdict = p.verdict()
    ends = _ends(of, compared.margin, verdict, levels)
    sign = -1 if compared.lower_is_better else 1
    low, high = (None, None) if ends is None else sorted(sign * end + 0.0 for end in ends)
    return Gated(
        verdict=verdict,
        margin=compared.margin,
        run=float(compared.run.mean()),
        baseline=float(compared.baseline.mean()),
        difference=sign * of.mean + 0.0,
        low=low,
        high=high,
        is_loss=of.topics > 1 and (of.mean < -of.rounding if ends is None else ends[1] < 0),
        p=p,
        levels=levels,
        moments=of,
    )


def _ends(of: Moments, margin: float, verdict: Verdict, levels: Three) -> tuple[float, float] | None:
    """Both bounds of the difference, positive where the run is better, as the verdict has them."""
    if of.topics == 1 or of.sd == 0:
        return None
    freedom, root = of.topics - 1, sqrt(of.topics)
    below = float(special.stdtrit(freedom, 1 - (levels.better if verdict == "better" else levels.no_worse)))
    above = float(special.stdtrit(freedom, 1 - levels.worse))
    low = of.mean - below * of.sd / root
    guarded = of.mean - of.sd * _excess(-above / root, of.skew, of.topics)
    high = max(of.mean + above * of.sd / root, guarded)
    # Holm's correction may leave another test a wider level: no end may say more than the verdict.
    if verdict != "better":
        low = min(low, 0.0 if verdict == "no worse" else -margin)
    return low, high if verdict == "worse" else max(high, -margin)


def _within_reach(effect: float, least: int, topics: int, level: float) -> int | None:
    """The fewest topics, from the least on, that show an effect by a one-sided test with 80 % power."""
    if effect * effect * MOST_TIMES * topics < 1:
        return None
    fewest = int(fewest_topics(np.array([effect]), least, power=POWER, alpha=2 * level)[0])
    return fewest if fewest <= MOST_TIMES * topics else None
