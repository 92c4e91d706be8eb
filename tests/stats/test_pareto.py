"""The Pareto front against its definition."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from leaderboard.stats.pareto import front

few = st.sampled_from([0.0, 1.0, 2.0, 3.0])


@given(st.lists(st.tuples(few, few), max_size=12))
def test_no_run_on_the_front_is_beaten_and_every_other_is(points: list[tuple[float, float]]) -> None:
    """Beaten: another is as good in both and better in one."""
    cost, better = (np.array([point[part] for point in points], dtype=float) for part in (0, 1))
    expected = [
        not any(other[0] <= mine[0] and other[1] >= mine[1] and other != mine for other in points)
        for mine in points
    ]
    assert front(cost, better).tolist() == expected


def test_equal_points_are_on_the_front_together() -> None:
    """Two runs of the same cost and value are not a reason to leave either out."""
    assert front(np.array([1.0, 1.0, 2.0]), np.array([0.5, 0.5, 0.4])).tolist() == [True, True, False]


@pytest.mark.parametrize("unknown", [np.nan, np.inf, -np.inf])
def test_what_is_not_known_is_never_on_it_and_beats_no_run(unknown: float) -> None:
    """A run without a cost stands beside the comparison."""
    cost, better = np.array([unknown, 1.0, 2.0]), np.array([0.9, 0.5, unknown])
    assert front(cost, better).tolist() == [False, True, False]
