"""Agreement within each topic."""

import numpy as np
from hypothesis import given
from numpy.typing import NDArray

from leaderboard.stats.judges import topic_agreement
from leaderboard.stats.orders.rank_correlation import tau_b
from tests.stats.worked import TABLES

FloatArray = NDArray[np.float64]


@given(TABLES)
def test_it_is_tau_b_topic_by_topic(scores: FloatArray) -> None:
    """Undefined exactly where τ is."""
    judge = scores[::-1]
    found = topic_agreement(scores, judge)
    for topic, value in enumerate(found):
        expected = tau_b(scores[:, topic], judge[:, topic])
        assert np.isnan(value) if expected is None else abs(value - expected) < 1e-12


def test_accuracy_is_defined_where_the_judge_ties_all() -> None:
    """By half; where the reference ties all there is nothing to be right about."""
    reference, judge = (
        np.array([[3.0, 1, 3], [2, 1, 2], [1, 1, 1]]),
        np.array([[1.0, 1, 3], [1, 2, 1], [1, 3, 2]]),
    )
    found = topic_agreement(reference, judge, "accuracy")
    assert np.array_equal(found, [0.5, np.nan, 2 / 3], equal_nan=True)
