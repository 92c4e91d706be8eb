"""The board of a suite: ranks by every aggregate, incomplete runs, who may be the best."""

from typing import get_args

import numpy as np
import pytest

from leaderboard.stats.suites import By, MemberScores, board

A = [[0.5, 0.7, 0.6, 0.8], [0.3, 0.2, 0.4], [0.9, 0.8, 0.7, 0.6, 0.5]]


def members(*runs: list[list[float] | None], groups: str = "xxy") -> list[MemberScores]:
    """Members of the runs' scores, topics numbered."""
    made = []
    for place in range(len(runs[0])):
        columns = [run[place] for run in runs]
        topics = tuple(str(topic) for topic in range(max(len(column or ()) for column in columns)))
        scores = tuple(None if column is None else np.array(column) for column in columns)
        made.append(MemberScores(topics, scores, groups[place]))
    return made


def worse(run: list[list[float]], by: float) -> list[list[float] | None]:
    """The same run, worse by about so much on every topic."""
    return [[score - by - 0.001 * place for place, score in enumerate(column)] for column in run]


def test_a_run_that_lacks_a_member_has_no_rank() -> None:
    """By means and mean ranks; it has points, and no difference is told of it."""
    made = board(members(A, worse(A, 0.1), [*worse(A, 0.2)[:2], None]))
    assert made.ranks == [1, 2, None]
    assert made.present.tolist() == [3, 3, 2]
    assert made.complete == (0, 1)
    assert np.isnan(made.values["mean"][2])
    assert made.verdicts is not None
    assert made.verdicts.may_be_best.tolist() == [True, False]
    assert board(members(A, worse(A, 0.1), [*worse(A, 0.2)[:2], None]), by="borda").ranks == [1, 2, 3]


@pytest.mark.parametrize("by", get_args(By))
def test_every_aggregate_ranks(by: By) -> None:
    """The better run is first by each; only of means are differences told."""
    made = board(members(worse(A, 0.1), A), by=by)
    assert made.ranks == [2, 1]
    assert (made.pairs is None) == (by in ("borda", "mean_rank"))
    lower = board(members(worse(A, 0.1), A), by=by, lower_is_better=True)
    assert lower.ranks == [1, 2]


def test_macro_means_weigh_groups_alike() -> None:
    """Two members in one group count as much as the one in the other."""
    made = board(members(A, worse(A, 0.1)), by="macro")
    assert made.weights.tolist() == [0.25, 0.25, 0.5]
    means = [np.mean(column) for column in A]
    assert made.values["macro"][0] == pytest.approx((means[0] + means[1]) / 4 + means[2] / 2)
    micro = board(members(A, worse(A, 0.1)), by="micro")
    assert micro.values["micro"][0] == pytest.approx(np.mean(np.concatenate(A)))


def test_one_run_or_no_complete_one_has_no_pairs() -> None:
    """And a suite has a member."""
    assert board(members(A)).pairs is None
    assert board(members([A[0], None, A[2]], [None, A[1], A[2]])).ranks == [None, None]
    with pytest.raises(ValueError, match="at least one member"):
        board([])
