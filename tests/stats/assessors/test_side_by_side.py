"""Votes with an exact sign test, majorities and satisfaction with intervals."""

import pytest
from scipy.stats import binomtest, ttest_1samp

from leaderboard.stats.assessors import Mean, majority_sign, satisfaction, votes


@pytest.mark.parametrize(("wins", "losses"), [(0, 0), (1, 0), (3, 3), (7, 2), (0, 12), (30, 14)])
def test_the_sign_test_is_the_exact_binomial_one(wins: int, losses: int) -> None:
    """The p of SciPy's binomial test on decided votes, ties left out."""
    result = votes([1] * wins + [0] * 5 + [-1] * losses)
    expected = binomtest(wins, wins + losses).pvalue if wins + losses else 1.0
    assert (result.wins, result.ties, result.losses) == (wins, 5, losses)
    assert result.p == pytest.approx(expected, abs=1e-12)


def test_no_votes_are_no_evidence() -> None:
    """Without a vote p is 1."""
    assert votes([]) == (0, 0, 0, 1.0)


def test_a_majority_needs_more_votes_than_the_other() -> None:
    """Votes for neither do not count against the one that has more."""
    assert [majority_sign(signs) for signs in ([1, 0, 0], [1, -1, 0], [-1, -1, 1], [])] == [1, 0, -1, 0]


def test_intervals_are_those_of_the_t_distribution() -> None:
    """As SciPy's one-sample t interval, of the difference too."""
    one, two = [3.0, 2.5, 2.0, 3.5], [1.0, 2.0, 2.0, 1.5]
    result = satisfaction(one, two)
    differences = [first - second for first, second in zip(one, two, strict=True)]
    for mean, values in ((result.first, one), (result.second, two), (result.difference, differences)):
        low, high = ttest_1samp(values, 0).confidence_interval(0.95)
        assert mean.value == pytest.approx(sum(values) / 4)
        assert (mean.low, mean.high) == (pytest.approx(low), pytest.approx(high))


def test_intervals_end_with_the_scale() -> None:
    """Satisfaction below 0 or above 4 is impossible; a difference below 0 is not."""
    result = satisfaction([4.0, 3.0], [0.0, 1.0])
    assert (result.first.high, result.second.low) == (4.0, 0.0)
    assert result.difference.low is not None
    assert result.difference.low < 0


def test_one_topic_has_no_interval() -> None:
    """A mean without spread to tell it by."""
    assert satisfaction([3.0], [1.0]) == (Mean(3.0, None, None), Mean(1.0, None, None), Mean(2.0, None, None))
