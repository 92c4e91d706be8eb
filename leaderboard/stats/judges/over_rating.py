"""Which runs a judge rates higher than the reference does, compared with the other runs.

Both boards are standardised within each topic, so that a judge that is lenient, or uses another scale, rates
nobody higher for that.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated

import numpy as np
from numpy.typing import NDArray

from leaderboard.stats.pairs.paired_t import ROUNDING
from leaderboard.stats.reliability.power import half_width
from leaderboard.tables.record import Shown

FloatArray = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class OverRating:
    """By how many standard deviations a group of runs is rated higher, with the ends of its t interval.

    low and high are None where one topic alone is there.
    """

    mean: Annotated[float, Shown("Over-rated (sd)", key="over_rated")]
    low: Annotated[float | None, Shown("95% from")]
    high: Annotated[float | None, Shown("to")]
    topics: int


def over_rated(reference: FloatArray, judge: FloatArray) -> FloatArray:
    """Standardised scores by the judge less those by the reference, (runs, topics kept).

    Scores (runs, topics); standardised within a topic over the runs, mean 0 and population sd 1. A topic on
    which a side does not vary is left out. Each column sums to 0: it is relative to the other runs.

    >>> over_rated(np.array([[1.0, 1], [0, 1]]), np.array([[0.0, 1], [1, 0]]))
    array([[-2.],
           [ 2.]])
    """
    kept = np.ones(reference.shape[1], dtype=bool)
    for scores in (reference, judge):
        kept &= scores.std(axis=0) > ROUNDING * np.abs(scores).max(axis=0, initial=0.0)
    one, two = (_standard(scores[:, kept]) for scores in (reference, judge))
    return two - one


def group_over_rating(over: FloatArray, runs: Sequence[int]) -> OverRating | None:
    """The over-rating of a group: the mean over its runs by topic, then over topics; None without a topic.

    over: as over_rated gives it.

    >>> group_over_rating(np.array([[0.1, 0.3], [-0.1, -0.3]]), [0]).mean
    0.2
    """
    topics = over.shape[1]
    if not topics:
        return None
    by_topic = over[list(runs)].mean(axis=0)
    mean = float(by_topic.mean())
    if topics < 2:
        return OverRating(mean, None, None, topics)
    reach = half_width(float(by_topic.std(ddof=1)), topics)
    return OverRating(mean, mean - reach, mean + reach, topics)


def _standard(scores: FloatArray) -> FloatArray:
    standard: FloatArray = (scores - scores.mean(axis=0)) / scores.std(axis=0)
    return standard
