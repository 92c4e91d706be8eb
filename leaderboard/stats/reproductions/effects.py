"""Whether a gain over a baseline recurs: on the same topics by others, or on another set.

b is a baseline, a the system that is to be better, both given by their mean scores on the original set o and
on another set r, or as reproduced there. A number whose denominator is 0 is not defined: None, never
infinity. Breuer et al., How to Measure the Reproducibility of System-oriented IR Experiments, SIGIR 2020;
repro_eval.
"""

from dataclasses import dataclass
from math import inf, isfinite

ROUNDING = 1e-12
"""Means closer than this share of the larger one are equal up to rounding."""


def ratio(numerator: float, denominator: float) -> float | None:
    """The quotient; None where the denominator is 0, or so small that the quotient has no number.

    >>> ratio(1.0, 4.0), ratio(1.0, 0.0)
    (0.25, None)
    """
    quotient = inf if denominator == 0 else numerator / denominator + 0.0
    return quotient if isfinite(quotient) else None


def difference(first: float, second: float) -> float:
    """First less second; 0 where they differ by rounding alone.

    >>> difference(0.1 + 0.2, 0.3)
    0.0
    """
    is_same = abs(first - second) <= ROUNDING * max(abs(first), abs(second))
    return 0.0 if is_same else first - second


def relative_improvement(advanced: float, baseline: float) -> float | None:
    """RI: by how much of the baseline's mean the system is better.

    >>> round(relative_improvement(0.45, 0.375), 6)
    0.2
    """
    return ratio(difference(advanced, baseline), baseline)


@dataclass(frozen=True, slots=True)
class Effect:
    """A system and a baseline on two sets: their means, and the change of the gain.

    >>> effect = Effect(0.375, 0.45, 0.3, 0.34)
    >>> [round(effect.ri_original, 6), round(effect.ri_other, 6), round(effect.dri, 6), round(effect.er, 6)]
    [0.2, 0.133333, 0.066667, 0.533333]
    """

    baseline_original: float
    advanced_original: float
    baseline_other: float
    advanced_other: float

    @property
    def ri_original(self) -> float | None:
        """RI on the original set."""
        return relative_improvement(self.advanced_original, self.baseline_original)

    @property
    def ri_other(self) -> float | None:
        """RI on the other set."""
        return relative_improvement(self.advanced_other, self.baseline_other)

    @property
    def dri(self) -> float | None:
        """DRI, RI on the original set less RI on the other: 0 the same, above 0 the gain shrank."""
        original, other = self.ri_original, self.ri_other
        return None if original is None or other is None else difference(original, other)

    @property
    def er(self) -> float | None:
        """ER, the gain on the other set as a share of the original one: 1 the same, 0 or less none left."""
        other = difference(self.advanced_other, self.baseline_other)
        return ratio(other, difference(self.advanced_original, self.baseline_original))


def relative_change(original: float, other: float) -> float | None:
    """RC: the share of its mean that a system loses on the other set; above 0 is a loss, 1 a total one.

    LongEval's code writes 0 where nothing is left, which hides a total loss.

    >>> round(relative_change(0.45, 0.34), 6), relative_change(0.45, 0.0), relative_change(0.0, 0.1)
    (0.244444, 1.0, None)
    """
    return ratio(difference(original, other), original)


def mean_of_both(original: float, other: float) -> float:
    """The mean of a system's means on both sets, which LongEval calls AP.

    >>> mean_of_both(0.5, 0.25)
    0.375
    """
    return (original + other) / 2
