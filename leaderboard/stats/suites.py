"""Runs on several sets of topics, the members of a suite: aggregates, changes, confidence.

means are float64 (runs, members), a run's mean score by member, higher is better, nan where a member is
missing in a run. A run that lacks a member has no mean and no mean rank, but points: nan means none.

A member's scores are float64 (runs, topics), higher is better, of the same runs in every member; weights,
(members,), are those of the aggregate. Three answers, by what would be drawn again: the topics within each
member, the members, or topics that all members share.

Efron and Tibshirani, An Introduction to the Bootstrap, 1993. The same seed always gives the same numbers.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from leaderboard.stats import special
from leaderboard.stats.pairs.bootstrap import resampled_sums
from leaderboard.stats.pairs.condensed import pairs
from leaderboard.stats.pairs.corrections import holm
from leaderboard.stats.pairs.methods import CORRECTIONS, Method, PairTable, Procedure, all_pairs, method
from leaderboard.stats.pairs.paired_t import ROUNDING
from leaderboard.stats.reproductions.effects import Effect, mean_of_both, relative_change
from leaderboard.stats.reproductions.two_samples import unpaired
from leaderboard.stats.seeds import numbers, stream
from leaderboard.stats.standing import Verdicts, verdicts

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

    n is the number of all runs, so that points depend on the set of runs. Without missing members they sum to
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


Drawn = Literal["topics", "members", "shared topics"]
"""Units in which other suites like this one would differ."""

FEW_MEMBERS = 6
"""With fewer members, little can be inferred about members like these."""
_WELCH = Procedure(
    "members_t",
    "t over members",
    "Would other topics in the same members shift the aggregate difference by as much as its distance "
    "from 0?",
    "Welch, The Generalization of Student's Problem when Several Different Population Variances are "
    "Involved, Biometrika 34(1/2), 1947",
)


@dataclass(frozen=True, slots=True, eq=False)
class MemberPairs:
    """All pairs of runs by an aggregate, first less second, each (pairs,) in the order of pairs().

    error is the standard error, freedom its degrees of freedom, 0 where it is not known. table has p, its
    correction by Holm and the 95 % interval, for comparing two runs. units: how many there are of what
    would be drawn again, the topics of all members, the members, or the topics that they share.
    """

    error: FloatArray
    freedom: FloatArray
    t: FloatArray
    table: PairTable
    units: int


def compare(
    members: Sequence[FloatArray], weights: FloatArray, drawn: Drawn, topics: Sequence[Sequence[str]] = ()
) -> MemberPairs:
    """All pairs of runs, with what would be drawn again; topics are the ids of each member's, where shared.

    Raises ValueError for a member without topics, and for members drawn again with unequal weights: weights
    do not determine a group of members like these.
    """
    if drawn == "topics":
        return these_members(members, weights)
    if drawn == "members":
        if np.ptp(weights) > ROUNDING:
            raise ValueError("members like these are of equal weights")
        return _as_topics(np.column_stack([scores.mean(axis=1) for scores in members]))
    return _as_topics(by_shared_topic(members, weights, topics))


def these_members(members: Sequence[FloatArray], weights: FloatArray) -> MemberPairs:
    """Topics drawn again within each member: Welch's t with Satterthwaite's degrees of freedom.

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
    """p, its correction and the interval; p 1 and an unbounded interval if nothing is known."""
    is_known = freedom > 0
    t = np.where(is_known, _t(difference, error), 0.0)
    # A difference that is the same on every topic of every member has no error, for any degrees of freedom.
    usable = np.where(is_known & np.isfinite(freedom), freedom, 1.0)
    p = np.where(is_known, 2 * special.stdtr(usable, -np.abs(t)), 1.0)
    half = np.where(is_known, special.stdtrit(usable, 0.975) * error, np.inf)
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


By = Literal["mean", "macro", "micro", "borda", "mean_rank"]
MEANS: tuple[By, ...] = ("mean", "macro", "micro")
"""Aggregates that are weighted means of the members' means: only these get significance tests."""


@dataclass(frozen=True, slots=True, eq=False)
class MemberScores:
    """Scores of all runs in a member: its topics' ids; by run float64 (topics,), None where it is missing."""

    topics: tuple[str, ...]
    scores: tuple[FloatArray | None, ...]
    group: str = ""


@dataclass(frozen=True, slots=True, eq=False)
class Board:
    """The runs over members, in the order in which they were given; arrays are (runs,).

    weights: of the members in the aggregate, equal ones where it is not a mean. means: (runs, members), as
    the measure prints them, nan for a missing member. values: each aggregate, nan for a run that has none.
    ranks: by the requested aggregate. complete: places of the runs with all members, which pairs and
    verdicts are of; None where the aggregate is not a mean, or less than two runs are complete.
    """

    by: By
    members: int
    weights: FloatArray
    means: FloatArray
    present: NDArray[np.int64]
    values: dict[By, FloatArray]
    ranks: list[int | None]
    complete: tuple[int, ...]
    pairs: MemberPairs | None
    verdicts: Verdicts | None


def board(
    members: Sequence[MemberScores],
    *,
    by: By = "mean",
    drawn: Drawn = "topics",
    lower_is_better: bool = False,
) -> Board:
    """The board of runs over at least one member. Macro groups members by their group.

    Raises ValueError without a member, and as compare() does.
    """
    if not members:
        raise ValueError("a suite has at least one member")
    means = np.column_stack([_board_means(member) for member in members])
    better = -means if lower_is_better else means
    weights = _weights(members)
    values: dict[By, FloatArray] = {name: weighted_mean(means, weights[name]) for name in MEANS}
    values |= {"borda": borda_points(better), "mean_rank": mean_ranks(better)}
    is_lower = by == "mean_rank" or (lower_is_better and by != "borda")
    complete = tuple(np.flatnonzero(~np.isnan(means).any(axis=1)).tolist())
    pairs = None
    if by in MEANS and len(complete) > 1:
        pairs = compare(
            [_stacked(member, complete, lower_is_better) for member in members],
            weights[by],
            drawn,
            [member.topics for member in members],
        )
    return Board(
        by=by,
        members=len(members),
        weights=weights.get(by, weights["mean"]),
        means=means,
        present=np.count_nonzero(~np.isnan(means), axis=1),
        values=values,
        ranks=ranks(values[by], lower_is_better=is_lower),
        complete=complete,
        pairs=pairs,
        verdicts=None if pairs is None else verdicts(pairs.table),
    )


def _weights(members: Sequence[MemberScores]) -> dict[By, FloatArray]:
    return {
        "mean": equal_weights(len(members)),
        "macro": macro_weights([member.group for member in members]),
        "micro": micro_weights([len(member.topics) for member in members]),
    }


def _board_means(member: MemberScores) -> FloatArray:
    return np.array([np.nan if scores is None else scores.mean() for scores in member.scores])


def _stacked(member: MemberScores, runs: Sequence[int], lower_is_better: bool) -> FloatArray:
    """The scores of runs that have the member, (runs, topics), higher is better."""
    stacked = np.stack([scores for run in runs if (scores := member.scores[run]) is not None])
    return -stacked if lower_is_better else stacked


@dataclass(frozen=True, slots=True)
class Change:
    """A run on the reference member and on another one; undefined numbers are None.

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


def change_of_suite(
    original: FloatArray, other: FloatArray, baseline: tuple[FloatArray, FloatArray] | None = None
) -> Change:
    """A run's change from the reference to another member, and of its gain over a baseline there and here.

    Scores by each member's own judged topics, (topics,). Raises ValueError where a member has no topic.

    >>> one = change_of_suite(
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


RESAMPLES = 2000


def resampled_aggregates(
    members: Sequence[FloatArray],
    weights: FloatArray,
    drawn: Drawn,
    topics: Sequence[Sequence[str]] = (),
    *,
    seed: int,
    resamples: int = RESAMPLES,
) -> FloatArray:
    """The runs' aggregates over resamples, (runs, resamples); the arguments are those of compare().

    Topics are drawn within each member; or members first, then topics within each that was drawn; or topics
    once for all members. Raises ValueError where resamples is below 1.

    >>> resampled_aggregates([np.array([[0.5, 0.5]])], np.ones(1), "topics", seed=1, resamples=3)
    array([[0.5, 0.5, 0.5]])
    """
    if resamples < 1:
        raise ValueError(f"{resamples} resamples are too few")
    if drawn == "topics":
        parts = [
            weight * _resampling_means(scores, seed, resamples, number)
            for number, (scores, weight) in enumerate(zip(members, weights, strict=True))
        ]
        summed: FloatArray = np.sum(parts, axis=0)
        return summed
    if drawn == "members":
        return _over_drawn_members(members, seed, resamples)
    return _resampling_means(by_shared_topic(members, weights, topics), seed, resamples, 0)


def bootstrap_ends(aggregates: FloatArray, confidence: float = 0.95) -> tuple[FloatArray, FloatArray]:
    """Percentile intervals of all pairs' differences, first run less second, (pairs,) each.

    >>> [end.tolist() for end in bootstrap_ends(np.array([[0.5, 0.75], [0.25, 0.25]]), 0.5)]
    [[0.3125], [0.4375]]
    """
    tail = (1 - confidence) / 2
    first, second = pairs(len(aggregates))
    ends = np.empty((2, len(first)))
    for run in range(len(aggregates) - 1):
        block = first == run
        ends[:, block] = np.quantile(aggregates[run] - aggregates[second[block]], [tail, 1 - tail], axis=1)
    return ends[0], ends[1]


def _resampling_means(scores: FloatArray, seed: int, resamples: int, *block: int) -> FloatArray:
    means: FloatArray = resampled_sums(scores, stream(seed, *block), resamples) / scores.shape[1]
    return means


def _over_drawn_members(members: Sequence[FloatArray], seed: int, resamples: int) -> FloatArray:
    """Members drawn with replacement, and the topics of each again every time it is drawn."""
    count = len(members)
    drawn = numbers(stream(seed, count), resamples, count, count)
    summed = np.zeros((len(members[0]), resamples))
    for number, scores in enumerate(members):
        for place in range(count):
            here = np.flatnonzero(drawn[:, place] == number)
            if len(here):
                summed[:, here] += _resampling_means(scores, seed, len(here), number, place)
    return summed / count
