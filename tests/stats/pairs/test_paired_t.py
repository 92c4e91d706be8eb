"""The paired t test: worked numbers, SciPy, and scores that leave nothing to test."""

import numpy as np
import pytest
from hypothesis import given
from numpy.typing import NDArray
from scipy import stats

from leaderboard.stats.pairs.condensed import pairs
from leaderboard.stats.pairs.paired_t import paired_t
from tests.stats.worked import TABLES, WORKED, generated


def test_worked_example() -> None:
    """Three runs on five topics."""
    result = paired_t(WORKED)
    assert result.difference == pytest.approx([0.1, 0.14, 0.04])
    assert result.t == pytest.approx([3.162278, 1.723281, 0.666667], abs=5e-7)
    assert result.p == pytest.approx([0.034109, 0.159935, 0.541470], abs=5e-7)
    assert (result.low[0], result.high[0]) == pytest.approx((0.012201, 0.187799), abs=5e-7)


@pytest.mark.parametrize(("runs", "topics"), [(2, 2), (2, 50), (40, 50), (5, 3000)])
def test_agrees_with_scipy(runs: int, topics: int) -> None:
    """t, p and intervals of ttest_rel, within 1e-12."""
    scores = generated(runs, topics)
    first, second = pairs(runs)
    theirs = stats.ttest_rel(scores[first], scores[second], axis=1)
    for confidence in (0.95, 0.9):
        result, interval = paired_t(scores, confidence=confidence), theirs.confidence_interval(confidence)
        assert result.t == pytest.approx(theirs.statistic, rel=1e-12, abs=1e-12)
        assert result.p == pytest.approx(theirs.pvalue, rel=1e-12, abs=1e-12)
        assert result.low == pytest.approx(interval.low, rel=1e-12, abs=1e-12)
        assert result.high == pytest.approx(interval.high, rel=1e-12, abs=1e-12)


def test_runs_nearly_the_same_keep_their_digits() -> None:
    """Differences of a millionth beside scores around a half."""
    scores = generated(1, 50).repeat(2, axis=0)
    scores[1] += 1e-6 * np.random.default_rng(1).normal(0.5, 1, 50)
    theirs = stats.ttest_rel(*scores)
    assert paired_t(scores).t[0] == pytest.approx(theirs.statistic, rel=1e-12)


def test_identical_runs() -> None:
    """No difference, t 0 and p 1."""
    result = paired_t(WORKED[[0, 0]])
    assert [values.item() for values in result] == [0, 0, 0, 1, 0, 0]


@pytest.mark.parametrize("by", [0.25, -0.25, 0.1])
def test_a_constant_difference(by: float) -> None:
    """An infinite t and p 0, also where 0.1 is not a round number."""
    result = paired_t(np.array([WORKED[0] + by, WORKED[0]]))
    assert result.t.item() == np.copysign(np.inf, by)
    assert (result.p.item(), result.sd.item()) == (0, 0)
    assert result.low == pytest.approx([by])
    assert result.high == pytest.approx([by])


def test_rounding_is_no_difference() -> None:
    """Scores that differ in their last bit on every topic are the same scores."""
    result = paired_t(np.array([WORKED[0], np.nextafter(WORKED[0], 1)]))
    assert (result.t.item(), result.p.item()) == (0, 1)


def test_one_topic_says_nothing_of_others() -> None:
    """p 1 and an interval without ends."""
    result = paired_t(np.array([[0.5], [0.25]]))
    assert [values.item() for values in result] == [0.25, 0, 0, 1, -np.inf, np.inf]


def test_what_cannot_be_tested_is_refused() -> None:
    """No topic, or a confidence that is none."""
    with pytest.raises(ValueError, match="without a topic"):
        paired_t(np.empty((2, 0)))
    with pytest.raises(ValueError, match="not between 0 and 1"):
        paired_t(WORKED, confidence=95)


@given(TABLES)
def test_nothing_is_undefined(scores: NDArray[np.float64]) -> None:
    """Any scores give numbers, p from 0 to 1 and an interval around the difference."""
    result = paired_t(scores)
    assert not any(np.isnan(values).any() for values in result)
    assert ((result.p >= 0) & (result.p <= 1)).all()
    assert (result.low <= result.difference).all()
    assert (result.difference <= result.high).all()
    turned = paired_t(scores[::-1])
    assert turned.p[::-1][[0, -1]] == pytest.approx(result.p[[0, -1]], abs=1e-9)
