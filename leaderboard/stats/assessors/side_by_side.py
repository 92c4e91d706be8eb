"""What people prefer of two rankings: votes with an exact sign test, satisfaction with an interval."""

from collections.abc import Sequence
from math import isfinite
from typing import Annotated, NamedTuple

import numpy as np

from leaderboard.stats.pairs.paired_t import PairedT, paired_t
from leaderboard.stats.pairs.sign import sign_test
from leaderboard.tables.record import Place, Shown

LEAST, MOST = 0, 4
"""Ends of the scale of satisfaction."""
_DIFFERENCE, _FIRST, _SECOND = range(3)
"""Places of the pairs of three rows: first and second, first and nothing, second and nothing."""


class Votes(NamedTuple):
    """How often the first was preferred, neither, and the second."""

    wins: Annotated[int, Shown("Wins", key="topics_first")]
    ties: Annotated[int, Shown("Ties", key="topics_equal")]
    losses: Annotated[int, Shown("Losses", key="topics_second")]
    p: float
    """Of the exact sign test, two-sided; ties are left out, and 1 where nothing else is there."""


class Mean(NamedTuple):
    """A mean with its 95% interval, whose ends are None of a single topic, which has no spread."""

    value: Annotated[float, Shown(key="mean", digits=2)]
    low: Annotated[float | None, Shown("95% interval", key="interval", digits=2, shown=Place.PAGE)]
    high: Annotated[float | None, Shown("To", digits=2, shown=~Place.PAGE)]


class Satisfaction(NamedTuple):
    """Means over topics of two rankings, and of the difference, first less second."""

    first: Mean
    second: Mean
    difference: Mean


def votes(signs: Sequence[int]) -> Votes:
    """Votes of 1 for the first, -1 for the second and 0 for neither, with the sign test.

    Dixon and Mood, The Statistical Sign Test, Journal of the American Statistical Association 41, 1946.

    >>> result = votes([1, 1, 1, 0, -1, 1])
    >>> result.wins, result.ties, result.losses, round(result.p, 6)
    (4, 1, 1, 0.375)
    """
    if not signs:
        return Votes(0, 0, 0, 1.0)
    sign = sign_test(np.array([signs, [0] * len(signs)], dtype=np.float64))
    wins, losses = int(sign.wins[0]), int(sign.losses[0])
    return Votes(wins, len(signs) - wins - losses, losses, float(sign.p[0]))


def majority(signs: Sequence[int]) -> int:
    """What most votes of one topic say: 1, -1, or 0 where neither has more.

    >>> majority([1, 0, 1]), majority([1, -1]), majority([0, 0, -1])
    (1, 0, -1)
    """
    total = sum(signs)
    return (total > 0) - (total < 0)


def satisfaction(first: Sequence[float], second: Sequence[float]) -> Satisfaction:
    """Means over topics with t intervals: first and second have one value, from 0 to 4, a topic.

    The interval of either mean is cut at the ends of the scale. Raises ValueError without a topic.

    >>> satisfaction([3, 4, 2], [1, 2, 3]).difference.value
    1.0
    """
    one, two = np.asarray(first, dtype=np.float64), np.asarray(second, dtype=np.float64)
    t = paired_t(np.stack([one, two, np.zeros_like(one)]))
    difference, *alone = (_mean(t, pair) for pair in (_DIFFERENCE, _FIRST, _SECOND))
    return Satisfaction(_cut(alone[0]), _cut(alone[1]), difference)


def _mean(t: PairedT, pair: int) -> Mean:
    value, low, high = (float(values[pair]) for values in (t.difference, t.low, t.high))
    return Mean(value, low, high) if isfinite(low) else Mean(value, None, None)


def _cut(mean: Mean) -> Mean:
    if mean.low is None or mean.high is None:
        return mean
    return Mean(mean.value, max(mean.low, float(LEAST)), min(mean.high, float(MOST)))
