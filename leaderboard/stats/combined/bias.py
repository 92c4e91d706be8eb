"""Whether a machine favours some runs: by how much more than people it gives them, compared with all runs.

The paired t test over topics of each group of runs, Holm's correction over the groups. What a machine gives
all runs alike is no favour: the mean over all runs is taken out on each topic.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.special import stdtr

from leaderboard.stats.combined.labels import FloatArray
from leaderboard.stats.pairs.corrections import holm
from leaderboard.stats.pairs.paired_t import ROUNDING
from leaderboard.stats.reliability.power import half_width, smallest_difference

ALPHA = 0.05
POWER = 0.8


@dataclass(frozen=True, slots=True)
class Favour:
    """What a machine gives a group of runs more than people do, compared with all runs; units of the measure.

    low and high are the ends of its 95 % interval, p and adjusted are two-sided; visible is the smallest
    favour that would be found with 80 % power.
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

    Raises ValueError for fewer than two topics, or a group without a run.
    """
    topics = machine.shape[1]
    if topics < 2 or not all(groups):
        raise ValueError("whom a machine favours is seen from two topics and one run on")
    more = machine - people
    more = more - more.mean(axis=0)
    of_groups = np.array([more[list(group)].mean(axis=0) for group in groups])
    means, sds = of_groups.mean(axis=1), of_groups.std(axis=1, ddof=1)
    t, rounding = np.zeros_like(means), ROUNDING * max(np.abs(machine).max(), np.abs(people).max())
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
