"""Aggregates over members: the worked board, ties, missing members, and that Borda asks who else is there."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays
from numpy.typing import NDArray

from leaderboard.stats.suites import (
    borda_points,
    equal_weights,
    macro_weights,
    mean_ranks,
    member_ranks,
    micro_weights,
    ranks,
    weighted_mean,
)

FloatArray = NDArray[np.float64]
NAN = np.nan
BOARD = np.array([[0.5, 0.6, 0.4], [0.45, 0.65, 0.4], [0.4, 0.5, 0.55], [0.3, 0.55, NAN]])
MEANS = arrays.arrays(
    np.float64, st.tuples(st.integers(1, 6), st.integers(1, 5)), elements=st.sampled_from([0.1, 0.2, 0.3])
)


def test_worked_example() -> None:
    """Points, ranks, means and mean ranks of A, B, C, and D who lacks a member."""
    points = borda_points(BOARD)
    assert points.tolist() == [6.5, 6.5, 4, 1]
    assert ranks(points) == [1, 1, 3, 4]
    means = weighted_mean(BOARD, equal_weights(3))
    assert means == pytest.approx([0.5, 0.5, 0.483333, NAN], abs=5e-7, nan_ok=True)
    # 0.5 + 0.6 + 0.4 and 0.45 + 0.65 + 0.4 are one number, however they round.
    assert ranks(means) == [1, 1, 3, None]
    assert mean_ranks(BOARD) == pytest.approx([1.833333, 1.833333, 2.666667, NAN], abs=5e-7, nan_ok=True)
    macro = weighted_mean(BOARD, macro_weights(["one", "one", "two"]))
    assert macro == pytest.approx([0.475, 0.475, 0.5, NAN], nan_ok=True)
    assert ranks(macro) == [2, 2, 1, None]


def test_borda_depends_on_who_takes_part() -> None:
    """A leads B by 2 to 1; with two more runs B leads A by 7 to 6. Their means stay as they were."""
    two = np.array([[0.9, 0.9, 0.3], [0.8, 0.8, 0.8]])
    four = np.vstack([two, [[0.1, 0.1, 0.5], [0.1, 0.1, 0.4]]])
    assert borda_points(two).tolist() == [2, 1]
    assert borda_points(four)[:2].tolist() == [6, 7]
    assert (weighted_mean(two, equal_weights(3)) == weighted_mean(four, equal_weights(3))[:2]).all()


@given(MEANS)
def test_points_of_complete_runs_sum_to_all_pairs(means: FloatArray) -> None:
    """K n (n - 1) / 2, and their order is that of mean ranks."""
    runs, members = means.shape
    points, mean = borda_points(means), mean_ranks(means)
    assert points.sum() == members * runs * (runs - 1) / 2
    assert points == pytest.approx(members * (runs - mean))
    assert ranks(points) == ranks(mean, lower_is_better=True)


@given(MEANS, st.data())
def test_a_missing_member_gives_no_points(means: FloatArray, data: st.DataObject) -> None:
    """And takes nobody's rank: the others are ranked among those who have it."""
    runs, members = means.shape
    run, member = data.draw(st.integers(0, runs - 1)), data.draw(st.integers(0, members - 1))
    means[run, member] = NAN
    others = np.delete(means[:, member], run)
    left = member_ranks(means)[:, member]
    assert np.isnan(left[run])
    assert np.delete(left, run) == pytest.approx(member_ranks(others[:, None])[:, 0])
    assert np.isnan(weighted_mean(means, equal_weights(members))[run])
    assert np.isfinite(borda_points(means)).all()


def test_weights_sum_to_one() -> None:
    """Of groups of any sizes, and of topics."""
    assert macro_weights(list("abacab")).sum() == pytest.approx(1)
    weights = micro_weights([50, 25, 25])
    assert weights.tolist() == [0.5, 0.25, 0.25]
    assert weighted_mean(BOARD, weights)[2] == pytest.approx(0.5 * 0.4 + 0.25 * 0.5 + 0.25 * 0.55)
