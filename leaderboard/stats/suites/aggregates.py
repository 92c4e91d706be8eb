"""One number a run over the members of a suite: means, Borda points, mean ranks.

means are float64 (runs, members), a run's mean score by member, higher is better, nan where a member is
missing in a run. A run that lacks a member has no mean and no mean rank, but points: nan stands for none.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]

SAME_DIGITS = 12
"""Decimals to which aggregates are compared: what differs less differs by rounding, and shares its rank."""


def equal_weights(members: int) -> FloatArray:
    """The weights of the mean over members, (members,)."""
    return np.full(members, 1 / members)


def macro_weights(groups: Sequence[str]) -> FloatArray:
    """The weights of the mean over groups of the means within them: groups is the group of every member.

    MTEB's Mean (TaskType).

    >>> macro_weights(["law", "law", "health"])
    array([0.25, 0.25, 0.5 ])
    """
    names, place = np.unique(np.asarray(groups), return_inverse=True)
    sizes = np.bincount(place)
    return 1 / (len(names) * sizes[place])


def micro_weights(topics: Sequence[int]) -> FloatArray:
    """The weights of the mean over all topics of all members, by their numbers of topics.

    >>> micro_weights([1, 3])
    array([0.25, 0.75])
    """
    counts = np.asarray(topics, dtype=np.float64)
    shares: FloatArray = counts / counts.sum()
    return shares


def weighted_mean(means: FloatArray, weights: FloatArray) -> FloatArray:
    """A weighted mean over members, (runs,); nan for runs that lack one.

    >>> weighted_mean(np.array([[0.5, 0.6, 0.4], [0.3, 0.55, np.nan]]), equal_weights(3)).round(6)
    array([0.5, nan])
    """
    total: FloatArray = means @ weights
    return total


def member_ranks(means: FloatArray) -> FloatArray:
    """The rank of every run within every member, (runs, members), ties at their mean rank; nan for none.

    >>> member_ranks(np.array([[0.4, 0.1], [0.4, np.nan], [0.3, 0.2]]))
    array([[1.5, 2. ],
           [1.5, nan],
           [3. , 1. ]])
    """
    above = (means[None] > means[:, None]).sum(axis=1)
    equal = (means[None] == means[:, None]).sum(axis=1)
    return np.where(np.isnan(means), np.nan, above + (equal + 1) / 2)


def borda_points(means: FloatArray) -> FloatArray:
    """MTEB's Rank (Borda): in every member n less the rank, 0 where it is missing, summed, (runs,).

    n is the number of all runs, so that points depend on who takes part. Without missing members they sum to
    members · n (n - 1) / 2.

    >>> board = [[0.5, 0.6, 0.4], [0.45, 0.65, 0.4], [0.4, 0.5, 0.55], [0.3, 0.55, np.nan]]
    >>> borda_points(np.array(board))
    array([6.5, 6.5, 4. , 1. ])
    """
    points: FloatArray = np.nansum(len(means) - member_ranks(means), axis=1)
    return points


def mean_ranks(means: FloatArray) -> FloatArray:
    """The mean of a run's ranks over members, (runs,): Borda's order where no member is missing.

    >>> mean_ranks(np.array([[0.5, 0.4], [0.3, 0.4]]))
    array([1.25, 1.75])
    """
    return weighted_mean(member_ranks(means), equal_weights(means.shape[1]))


def ranks(values: FloatArray, *, lower_is_better: bool = False) -> list[int | None]:
    """Ranks from 1 on, ties sharing the best one; None for a run without a value.

    >>> ranks(np.array([6.5, 6.5, 4.0, np.nan]))
    [1, 1, 3, None]
    """
    order = np.round(values if lower_is_better else -values, SAME_DIGITS)
    above = (order[None] < order[:, None]).sum(axis=1)
    return [None if np.isnan(value) else int(count) + 1 for value, count in zip(values, above, strict=True)]
