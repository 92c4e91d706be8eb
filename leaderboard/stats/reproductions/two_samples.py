"""Whether two means differ, and whether they are the same within a margin: paired and unpaired t tests.

A large p does not prove equality; the interval of the difference says how large it may be, and two one-sided
tests whether it is within a margin. Student, The Probable Error of a Mean, Biometrika 6(1), 1908; Schuirmann,
A Comparison of the Two One-Sided Tests Procedure, Journal of Pharmacokinetics and Biopharmaceutics 15(6),
1987.
"""

from dataclasses import dataclass
from math import sqrt

import numpy as np
from numpy.typing import NDArray

from leaderboard.stats import special
from leaderboard.stats.pairs.paired_t import ROUNDING

FloatArray = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Difference:
    """A difference of two means, other less original, with its standard error and degrees of freedom.

    freedom is 0 where the scores do not give the error, as with one topic. is_same: whether all
    scores are equal up to rounding, topic by topic.
    """

    mean: float
    error: float
    freedom: float
    is_same: bool = False

    @property
    def p(self) -> float | None:
        """Two-sided, from 0 to 1: 1 where all scores are equal, else None where it is not defined.

        A difference that is the same on every topic has p 0.
        """
        if self.is_same:
            return 1.0
        if not self.freedom or not (self.error or self.mean):
            return None
        return 0.0 if not self.error else float(2 * special.stdtr(self.freedom, -abs(self.mean) / self.error))

    def interval(self, confidence: float = 0.95) -> tuple[float, float] | None:
        """Confidence interval of the difference; None where freedom is 0."""
        if not self.freedom:
            return None
        half = float(special.stdtrit(self.freedom, (1 + confidence) / 2)) * self.error
        return self.mean - half, self.mean + half

    def p_within(self, margin: float) -> float | None:
        """The larger p of the two one-sided tests (TOST): small where the difference is within ± margin.

        None where it is not defined. Raises ValueError where the margin is not above 0.
        """
        if not margin > 0:
            raise ValueError(f"a margin of {margin:g} holds no difference; it must be above 0")
        if not self.freedom:
            return None
        room = margin - abs(self.mean)
        if not self.error:
            return 0.0 if room > 0 else 1.0
        return float(special.stdtr(self.freedom, -room / self.error))


def paired(original: FloatArray, other: FloatArray) -> Difference:
    """The mean difference of scores on the same topics, (topics,) each.

    >>> change = paired(np.array([0.4, 0.2, 0.6, 0.3]), np.array([0.38, 0.25, 0.55, 0.3]))
    >>> round(change.mean, 6), round(change.p, 6), round(change.p_within(0.1), 6)
    (-0.005, 0.82727, 0.010121)

    Raises ValueError where the numbers of topics differ or are 0.
    """
    if not len(original) or original.shape != other.shape:
        raise ValueError("paired scores are of the same topics, at least one")
    by_topic = other - original
    is_same = bool((np.abs(by_topic) <= _rounding(original)).all())
    return Difference(float(by_topic.mean()), _error(by_topic, original), len(original) - 1, is_same)


def unpaired(original: FloatArray, other: FloatArray) -> Difference:
    """The difference of the means of two sets of topics, with one variance for both.

    >>> change = unpaired(np.array([0.4, 0.2, 0.6, 0.3]), np.array([0.3, 0.1, 0.5, 0.2, 0.4]))
    >>> round(change.mean, 6), round(change.p, 6)
    (-0.075, 0.51649)

    Raises ValueError where a set has no topic.
    """
    if not len(original) or not len(other):
        raise ValueError("a mean is of at least one topic")
    freedom = len(original) + len(other) - 2
    spread = sum(_spread(scores) for scores in (original, other))
    pooled = spread / freedom if freedom else 0.0
    is_same = len(original) == len(other) and paired(original, other).is_same
    error = sqrt(pooled * (1 / len(original) + 1 / len(other)))
    return Difference(float(other.mean() - original.mean()), error, freedom, is_same)


def _error(by_topic: FloatArray, scores: FloatArray) -> float:
    """The standard error of the mean difference; 0 where it is the same on every topic up to rounding."""
    topics = len(by_topic)
    sd = float(by_topic.std(ddof=min(1, topics - 1)))
    return 0.0 if sd <= _rounding(scores) else sd / sqrt(topics)


def _rounding(scores: FloatArray) -> float:
    return float(ROUNDING * np.abs(scores).max())


def _spread(scores: FloatArray) -> float:
    """The sum of squared differences from the mean; 0 for equal scores."""
    return 0.0 if np.ptp(scores) == 0 else float(((scores - scores.mean()) ** 2).sum())
