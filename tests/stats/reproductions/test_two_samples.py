"""Paired and unpaired t tests, their intervals and TOST: scipy, and what is not defined."""

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy import stats

from leaderboard.stats.reproductions.two_samples import paired, unpaired

FloatArray = NDArray[np.float64]
B, B_AGAIN = np.array([0.4, 0.2, 0.6, 0.3]), np.array([0.38, 0.25, 0.55, 0.30])
SCORES = st.lists(st.integers(0, 20), min_size=2, max_size=9).map(lambda values: np.array(values) / 20)


@given(SCORES, st.data())
def test_paired_as_scipy_has_it(one: FloatArray, data: st.DataObject) -> None:
    """p, interval and both one-sided tests."""
    two = np.array([data.draw(st.integers(0, 20)) for _ in one]) / 20
    assume(np.ptp(two - one) > 0.01)
    change, oracle = paired(one, two), stats.ttest_rel(two, one)
    assert change.p == pytest.approx(oracle.pvalue, rel=1e-9)
    assert change.interval() == pytest.approx(tuple(oracle.confidence_interval()), rel=1e-9, abs=1e-12)
    sides = (
        stats.ttest_1samp(two - one, -0.3, alternative="greater").pvalue,
        stats.ttest_1samp(two - one, 0.3, alternative="less").pvalue,
    )
    assert change.p_within(0.3) == pytest.approx(max(sides), rel=1e-9, abs=1e-12)


@given(SCORES, SCORES)
def test_unpaired_as_scipy_has_it(one: FloatArray, two: FloatArray) -> None:
    """With one variance for both, whatever the numbers of topics."""
    # scipy warns of constant scores; what ours says of them has its own test.
    assume(min(np.ptp(one), np.ptp(two)) > 0 and not np.array_equal(one, two))
    change, oracle = unpaired(one, two), stats.ttest_ind(two, one)
    assert change.p == pytest.approx(oracle.pvalue, rel=1e-9)
    assert change.interval() == pytest.approx(tuple(oracle.confidence_interval()), rel=1e-9, abs=1e-12)


def test_equal_scores_have_p_1() -> None:
    """Also of one topic, also but for rounding; nothing else is known of one topic."""
    assert paired(B, B).p == unpaired(B, B).p == paired(B[:1], B[:1]).p == 1
    rounded = np.array([0.1 + 0.2, 0.7])
    assert paired(np.array([0.3, 0.7]), rounded).p == 1
    one = paired(B[:1], B_AGAIN[:1])
    assert (one.p, one.interval(), one.p_within(0.1)) == (None, None, None)
    assert unpaired(B[:1], B_AGAIN[:1]).p is None


def test_a_constant_difference_is_certain() -> None:
    """p 0 and an interval of no width; within a margin or not, without a doubt."""
    change = paired(B, B + 0.1)
    assert change.p == 0
    assert change.interval() == pytest.approx((0.1, 0.1))
    assert (change.p_within(0.2), change.p_within(0.05)) == (0, 1)


def test_constant_scores_of_other_topics_are_not_told_apart_by_nothing() -> None:
    """The same score everywhere on sets of different sizes: no error, no difference, no p."""
    assert unpaired(np.full(2, 0.5), np.full(3, 0.5)).p is None
    assert unpaired(np.full(2, 0.5), np.full(3, 0.6)).p == 0


def test_what_cannot_be_tested_is_refused() -> None:
    """Other topics, no topic, a margin without room."""
    for one, two in ((B, B[:2]), (B[:0], B[:0])):
        with pytest.raises(ValueError, match="same topics"):
            paired(one, two)
    with pytest.raises(ValueError, match="at least one topic"):
        unpaired(B, B[:0])
    with pytest.raises(ValueError, match="above 0"):
        paired(B, B_AGAIN).p_within(0)
