"""The board of a suite: every run over the members that count, by all aggregates; which ranks are real."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from leaderboard.stats.standing.standing import Verdicts, verdicts
from leaderboard.stats.suites import aggregates
from leaderboard.stats.suites.uncertainty import Drawn, MemberPairs, compare

FloatArray = NDArray[np.float64]
By = Literal["mean", "macro", "micro", "borda", "mean_rank"]
MEANS: tuple[By, ...] = ("mean", "macro", "micro")
"""Aggregates that are weighted means of the members' means: of these is said which differences are real."""


@dataclass(frozen=True, slots=True, eq=False)
class MemberScores:
    """What all runs got in a member: its topics' ids; by run float64 (topics,), None where it is missing."""

    topics: tuple[str, ...]
    scores: tuple[FloatArray | None, ...]
    group: str = ""


@dataclass(frozen=True, slots=True, eq=False)
class Board:
    """The runs over members, in the order in which they were given; arrays are (runs,).

    weights: of the members in the aggregate, equal ones where it is not a mean. means: (runs, members), as
    the measure prints them, nan for a missing member. values: each aggregate, nan for a run that has none.
    ranks: by the aggregate that was asked for. complete: places of the runs with all members, which pairs and
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
    means = np.column_stack([_means(member) for member in members])
    better = -means if lower_is_better else means
    weights = _weights(members)
    values: dict[By, FloatArray] = {name: aggregates.weighted_mean(means, weights[name]) for name in MEANS}
    values |= {"borda": aggregates.borda_points(better), "mean_rank": aggregates.mean_ranks(better)}
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
        ranks=aggregates.ranks(values[by], lower_is_better=is_lower),
        complete=complete,
        pairs=pairs,
        verdicts=None if pairs is None else verdicts(pairs.table),
    )


def _weights(members: Sequence[MemberScores]) -> dict[By, FloatArray]:
    return {
        "mean": aggregates.equal_weights(len(members)),
        "macro": aggregates.macro_weights([member.group for member in members]),
        "micro": aggregates.micro_weights([len(member.topics) for member in members]),
    }


def _means(member: MemberScores) -> FloatArray:
    return np.array([np.nan if scores is None else scores.mean() for scores in member.scores])


def _stacked(member: MemberScores, runs: Sequence[int], lower_is_better: bool) -> FloatArray:
    """The scores of runs that have the member, (runs, topics), higher is better."""
    stacked = np.stack([scores for run in runs if (scores := member.scores[run]) is not None])
    return -stacked if lower_is_better else stacked
