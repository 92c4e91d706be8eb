"""Whom a judge rates higher than the reference does."""

import numpy as np
import pytest
from hypothesis import given
from numpy.typing import NDArray

from leaderboard.stats.judges import group_over_rating, over_rated
from tests.stats.worked import TABLES

FloatArray = NDArray[np.float64]

REFERENCE = np.array([[0.8, 0.6, 0.2, 0.4], [0.9, 0.5, 0.4, 0.2], [0.6, 0.7, 0.1, 0.2]]).T
JUDGE = np.array([[0.6, 0.7, 0.5, 0.4], [0.8, 0.6, 0.7, 0.3], [0.6, 0.6, 0.4, 0.2]]).T


def test_the_worked_example() -> None:
    """Runs A1, A2, B1, B2 on three topics, and team A with its interval."""
    over = over_rated(REFERENCE, JUDGE)
    assert over.mean(axis=1) == pytest.approx([-0.424747, 0.207421, 0.898789, -0.681463], abs=5e-7)
    team = group_over_rating(over, [0, 1])
    assert team is not None
    assert (team.mean, team.low, team.high) == pytest.approx((-0.108663, -0.426939, 0.209613), abs=5e-7)
    assert team.topics == 3


def test_a_topic_on_which_a_side_does_not_vary_is_left_out() -> None:
    """Of one topic there is no interval, of none no number."""
    flat = np.column_stack((REFERENCE, np.full(4, 0.3)))
    over = over_rated(flat, np.column_stack((JUDGE, REFERENCE[:, 0])))
    assert np.array_equal(over, over_rated(REFERENCE, JUDGE))
    alone = group_over_rating(over[:, :1], [0])
    assert alone is not None
    assert (alone.low, alone.high, alone.topics) == (None, None, 1)
    assert group_over_rating(over[:, :0], [0]) is None


@given(TABLES)
def test_it_is_relative_and_knows_no_scale(scores: FloatArray) -> None:
    """It sums to 0 over the runs, and a judge that is lenient, or counts in percent, over-rates nobody."""
    over = over_rated(scores, scores[::-1])
    assert np.abs(over.sum(axis=0)).max(initial=0.0) < 1e-9
    assert np.abs(over_rated(scores, 100 * scores + 7)).max(initial=0.0) < 1e-9
