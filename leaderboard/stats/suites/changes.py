"""What changes from one member of a suite to another: of a run, and of its gain over a baseline."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from leaderboard.stats.reproductions.effects import Effect, mean_of_both, relative_change
from leaderboard.stats.reproductions.two_samples import unpaired

FloatArray = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Change:
    """A run on the reference member and on another one; numbers that are not defined are None.

    effect is that of the run over the baseline, None without one; p that of an unpaired t test with one
    variance, of the run's own scores here against there.
    """

    original: float
    other: float
    effect: Effect | None
    p: float | None

    @property
    def rc(self) -> float | None:
        """The share of its mean that the run loses."""
        return relative_change(self.original, self.other)

    @property
    def mean_of_both(self) -> float:
        """The mean of both means."""
        return mean_of_both(self.original, self.other)


def change(
    original: FloatArray, other: FloatArray, baseline: tuple[FloatArray, FloatArray] | None = None
) -> Change:
    """A run's change from the reference to another member, and of its gain over a baseline there and here.

    Scores by each member's own judged topics, (topics,). Raises ValueError where a member has no topic.

    >>> one = change(
    ...     np.array([0.5, 0.3, 0.6, 0.4]), np.array([0.35, 0.1, 0.6, 0.25, 0.4]),
    ...     (np.array([0.4, 0.2, 0.6, 0.3]), np.array([0.3, 0.1, 0.5, 0.2, 0.4])),
    ... )
    >>> [round(number, 6) for number in (one.effect.dri, one.effect.er, one.rc, one.p)]
    [0.066667, 0.533333, 0.244444, 0.349146]
    """
    means = [float(scores.mean()) for scores in (original, other)]
    effect = None
    if baseline is not None:
        effect = Effect(float(baseline[0].mean()), means[0], float(baseline[1].mean()), means[1])
    return Change(means[0], means[1], effect, unpaired(original, other).p)
