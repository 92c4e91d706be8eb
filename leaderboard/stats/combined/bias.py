"""Whether a machine favours some runs: what it gives them beyond what others get that people score alike.

A machine that moves grades without regard to teams gives weak runs more than strong ones, as it finds more
to lift among what they retrieve. So its excess over people is first predicted from a run's score by people:
by the least-squares line of excess on mean score by people through the runs of all other groups (analysis of
covariance: Fisher, Statistical Methods for Research Workers, 4th edition, 1932). The weights of that
prediction are the same on every topic, so a group has one unpredicted excess per topic. Their mean is its
favour, tested by the paired t test over topics with Holm's correction over the groups.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.special import stdtr

from leaderboard.stats.combined.labels import FloatArray
from leaderboard.stats.pairs.corrections import holm
from leaderboard.stats.pairs.paired_t import ROUNDING
from leaderboard.stats.reliability.power import half_width, smallest_difference

VERSION = 2
"""Of the method. 1 took out the mean excess over all runs, and mistook weak runs for favoured ones."""
ALPHA = 0.05
POWER = 0.8
LEAST_OTHERS = 3
"""Runs of other groups: through two, any line fits, and strength cannot be told from favour."""


@dataclass(frozen=True, slots=True)
class Favour:
    """What a machine gives a group of runs beyond what it gives others that people score alike.

    In units of the measure. low and high are the ends of the 95 % interval, p and adjusted are two-sided;
    visible is the smallest favour that would be found with 80 % power.
    """

    mean: float
    low: float
    high: float
    p: float
    adjusted: float
    visible: float

    @property
    def is_favoured(self) -> bool:
        """Whether the machine favours the group."""
        return self.adjusted < ALPHA and self.mean > 0


def favours(machine: FloatArray, people: FloatArray, groups: Sequence[Sequence[int]]) -> tuple[Favour, ...]:
    """The favour of each group, a list of runs; machine, people: scores by either, (runs, topics).

    Raises ValueError for fewer than two topics, a group without a run, or one with fewer than three others.
    """
    runs, topics = machine.shape
    if topics < 2 or not all(groups):
        raise ValueError("whom a machine favours is seen from two topics and one run on")
    if any(runs - len(set(group)) < LEAST_OTHERS for group in groups):
        raise ValueError(f"a group is compared with {LEAST_OTHERS} runs of others or more")
    excess, strength = machine - people, people.mean(axis=1)
    rounding = ROUNDING * max(np.abs(machine).max(), np.abs(people).max())
    left = np.array([_unpredicted(excess, strength, list(group), rounding) for group in groups])
    means, sds = left.mean(axis=1), left.std(axis=1, ddof=1)
    t = np.zeros_like(means)
    np.divide(means, sds / np.sqrt(topics), out=t, where=sds > rounding)
    p = 2 * stdtr(topics - 1, -np.abs(t))
    adjusted = holm(p)
    return tuple(
        Favour(
            mean=float(mean),
            low=float(mean) - half_width(sd, topics, confidence=1 - ALPHA),
            high=float(mean) + half_width(sd, topics, confidence=1 - ALPHA),
            p=float(p[at]),
            adjusted=float(adjusted[at]),
            visible=smallest_difference(sd, topics, power=POWER, alpha=ALPHA / len(groups)),
        )
        for at, (mean, sd) in enumerate(zip(means.tolist(), sds.tolist(), strict=True))
    )


def _unpredicted(excess: FloatArray, strength: FloatArray, group: list[int], rounding: float) -> FloatArray:
    """What other runs' excess does not predict of a group's, (topics,); runs all alike predict their mean."""
    others = np.ones(len(strength), dtype=bool)
    others[group] = False
    middle = strength[others].mean()
    apart = strength[others] - middle
    spread, weights = float(apart @ apart), np.full(len(apart), 1 / len(apart))
    if spread > len(apart) * rounding**2:
        weights += (strength[group].mean() - middle) / spread * apart
    left: FloatArray = excess[group].mean(axis=0) - weights @ excess[others]
    return left
