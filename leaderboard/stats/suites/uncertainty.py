"""What differences between runs over the members of a suite are worth, here or on members like these.

A member's scores are float64 (runs, topics), higher is better, of the same runs in every member; weights,
(members,), are those of the aggregate. Three answers, by what would be drawn anew: the topics within each
member, the members, or topics that all members share.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from scipy.special import stdtr, stdtrit

from leaderboard.stats.pairs.condensed import pairs
from leaderboard.stats.pairs.corrections import holm
from leaderboard.stats.pairs.methods import CORRECTIONS, Method, PairTable, Procedure, all_pairs, method
from leaderboard.stats.pairs.paired_t import ROUNDING

FloatArray = NDArray[np.float64]
Drawn = Literal["topics", "members", "shared topics"]
"""What other suites like this one would differ in."""

FEW_MEMBERS = 6
"""With fewer members, members like these can tell little."""
_WELCH = Procedure(
    "members_t",
    "t over members",
    "Would other topics in the same members move the aggregate difference by as much as it is away from 0?",
    "Welch, The Generalization of Student's Problem when Several Different Population Variances are "
    "Involved, Biometrika 34(1/2), 1947",
)


@dataclass(frozen=True, slots=True, eq=False)
class MemberPairs:
    """All pairs of runs by an aggregate, first less second, each (pairs,) in the order of pairs().

    error is the standard error, freedom its degrees of freedom, 0 where it is not known. table has p, its
    correction by Holm and the 95 % interval, for who asks whom a run beats. units: how many there are of what
    would be drawn anew, the topics of all members, the members, or the topics that they share.
    """

    error: FloatArray
    freedom: FloatArray
    t: FloatArray
    table: PairTable
    units: int


def compare(
    members: Sequence[FloatArray], weights: FloatArray, drawn: Drawn, topics: Sequence[Sequence[str]] = ()
) -> MemberPairs:
    """All pairs of runs, with what would be drawn anew; topics are the ids of each member's, where shared.

    Raises ValueError for a member without topics, and for members drawn anew of unequal weights: what a group
    of members like these would be is not said by the weights.
    """
    if drawn == "topics":
        return these_members(members, weights)
    if drawn == "members":
        if np.ptp(weights) > ROUNDING:
            raise ValueError("members like these are of equal weights")
        return _as_topics(np.column_stack([scores.mean(axis=1) for scores in members]))
    return _as_topics(by_shared_topic(members, weights, topics))


def these_members(members: Sequence[FloatArray], weights: FloatArray) -> MemberPairs:
    """Topics drawn anew within each member: Welch's t with Satterthwaite's degrees of freedom.

    Differences have mean m_k and variance s_k² within member k; D = sum of w_k m_k, SE² = sum of v_k, v_k =
    w_k² s_k² / T_k, and (sum v_k)² / sum(v_k² / (T_k - 1)) degrees of freedom. Raises ValueError for a member
    without topics.

    >>> a = [[0.5, 0.7, 0.6, 0.8], [0.3, 0.2, 0.4], [0.9, 0.8, 0.7, 0.6, 0.5]]
    >>> b = [[0.4, 0.6, 0.6, 0.6], [0.3, 0.3, 0.2], [0.8, 0.8, 0.6, 0.5, 0.5]]
    >>> both = these_members([np.array(pair) for pair in zip(a, b)], np.full(3, 1 / 3))
    >>> table = both.table
    >>> [round(float(one[0]), 6) for one in (table.difference, both.error, both.freedom, table.p)]
    [0.064444, 0.033407, 3.227182, 0.142805]
    """
    first, _ = pairs(len(members[0]))
    mean, variance, squares = np.zeros((3, len(first)))
    is_known = np.ones(len(first), dtype=np.bool_)
    for scores, weight in zip(members, weights, strict=True):
        topics = scores.shape[1]
        if not topics:
            raise ValueError("a member without topics has no mean")
        here, spread = _moments(scores)
        mean += weight * here
        part = weight**2 * spread / topics
        variance += part
        squares += part**2 / max(1, topics - 1)
        is_known &= topics > 1
    freedom = np.divide(variance**2, squares, out=np.full(len(first), np.inf), where=squares > 0)
    units = sum(scores.shape[1] for scores in members)
    return _tested(mean, np.sqrt(variance), np.where(is_known, freedom, 0.0), len(members[0]), units)


def by_shared_topic(
    members: Sequence[FloatArray], weights: FloatArray, topics: Sequence[Sequence[str]]
) -> FloatArray:
    """Scores by topic whose mean is the aggregate, (runs, topics), where members share topics by their ids.

    A topic's is the sum of its weighted scores over the members that have it.

    >>> two = [np.array([[0.2, 0.4]]), np.array([[0.6, 0.8]])]
    >>> by_shared_topic(two, np.array([0.5, 0.5]), [["1", "2"], ["2", "1"]]).round(6)
    array([[0.5, 0.5]])
    """
    place = {topic: number for number, topic in enumerate(dict.fromkeys(chain(*topics)))}
    summed = np.zeros((len(members[0]), len(place)))
    for scores, weight, names in zip(members, weights, topics, strict=True):
        summed[:, [place[name] for name in names]] += weight * scores * (len(place) / len(names))
    return summed


def _as_topics(scores: FloatArray) -> MemberPairs:
    """The site's own paired t and Holm over the columns of scores (runs, columns)."""
    table = all_pairs(scores, method("t+holm"), seed=0)
    columns = scores.shape[1]
    error = np.sqrt(_moments(scores)[1] / columns)
    freedom = np.full(len(error), float(columns - 1))
    return MemberPairs(error, freedom, _t(table.difference, error), table, columns)


def _moments(scores: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Mean and variance of every pair's differences by topic, over topics - 1; 0 where they are constant."""
    means, topics = scores.mean(axis=1), scores.shape[1]
    first, second = pairs(len(scores))
    mean, variance = means[first] - means[second], np.empty(len(first))
    # Runs that are centred first have differences that are: one pass over pairs and topics in place of three.
    centred, start = scores - means[:, None], 0
    for run in range(len(scores) - 1):
        difference = centred[run] - centred[run + 1 :]
        block = slice(start, start := start + len(difference))
        variance[block] = np.einsum("pt,pt->p", difference, difference) / max(1, topics - 1)
    rounding = ROUNDING * float(np.abs(scores).max(initial=0.0))
    variance[variance <= rounding**2] = 0.0
    mean[np.abs(mean) <= rounding] = 0.0
    return mean, variance


def _t(difference: FloatArray, error: FloatArray) -> FloatArray:
    t = np.where(difference == 0, 0.0, np.copysign(np.inf, difference))
    np.divide(difference, error, out=t, where=error > 0)
    return t


def _tested(
    difference: FloatArray, error: FloatArray, freedom: FloatArray, runs: int, units: int
) -> MemberPairs:
    """p, its correction and the interval; p 1 and an interval without ends where nothing is known."""
    is_known = freedom > 0
    t = np.where(is_known, _t(difference, error), 0.0)
    # A difference that is the same on every topic of every member has no error, whatever its freedom.
    usable = np.where(is_known & np.isfinite(freedom), freedom, 1.0)
    p = np.where(is_known, 2 * stdtr(usable, -np.abs(t)), 1.0)
    half = np.where(is_known, stdtrit(usable, 0.975) * error, np.inf)
    adjusted = holm(p)
    table = PairTable(
        method=Method(_WELCH, CORRECTIONS["holm"]),
        runs=runs,
        difference=difference,
        low=difference - half,
        high=difference + half,
        p=p,
        single=p,
        adjusted=adjusted,
        resamples=None,
        reachable=bool(is_known.any() or not len(p)),
    )
    return MemberPairs(error, freedom, t, table, units)
