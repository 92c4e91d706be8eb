"""Rank intervals and first places: all 3,125 resamples of a small board, and the definition run by run."""

from itertools import product
from operator import and_

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays
from numpy.typing import NDArray
from scipy.stats import rankdata, ttest_rel

from leaderboard.stats.standing import first_places, places, rank_intervals, resampled_means

WORKED = np.array([[5, 4, 7, 2, 6], [4, 4, 5, 1, 5], [3, 5, 4, 2, 3]]) / 10
SCORES = arrays.arrays(
    np.float64,
    st.tuples(st.integers(2, 6), st.integers(2, 8)),
    elements=st.integers(0, 10).map(lambda n: n / 10),
)


def test_first_places_over_every_resample_of_five_topics() -> None:
    """Three runs, 5^5 equally likely resamples; a tie for the first place is shared."""
    drawn = np.array(list(product(range(5), repeat=5)))
    shares = places(WORKED.T[drawn].mean(axis=1))
    assert shares.resamples == 3125
    assert shares.first.tolist() == [0.96752, 0.0, 0.03248]
    assert shares.mean_rank.tolist() == [1.02112, 2.18912, 2.66432]
    assert list(zip(shares.low.tolist(), shares.high.tolist(), strict=True)) == [(1, 1), (2, 3), (1, 3)]


def test_random_resamples_come_near_to_all_of_them() -> None:
    """10,000 draws: within four standard errors of the exact shares, and the same ranks."""
    shares = first_places(WORKED, seed=11)
    assert shares.first == pytest.approx([0.96752, 0.0, 0.03248], abs=0.0072)
    assert shares.mean_rank == pytest.approx([1.02112, 2.18912, 2.66432], abs=0.02)
    assert (shares.low.tolist(), shares.high.tolist()) == ([1, 2, 1], [1, 3, 3])


def test_the_same_seed_draws_alike_for_ever() -> None:
    """Pinned numbers: they come from NumPy's raw stream, which does not change."""
    shares = first_places(WORKED, seed=3)
    assert shares.first.tolist() == [0.96725, 0.0, 0.03275]
    assert shares.mean_rank.tolist() == [1.0218, 2.1888, 2.668]


def test_every_topic_is_drawn_equally_often() -> None:
    """The means of runs that score on one topic each are the topics' shares of the draws."""
    means = np.concatenate(list(resampled_means(np.eye(7), 1, 20_000)))
    assert means.sum(axis=1) == pytest.approx(np.ones(20_000))
    # Four standard errors of a share of 140,000 draws.
    assert means.mean(axis=0) == pytest.approx(np.full(7, 1 / 7), abs=4 * (6 / 49 / 140_000) ** 0.5)


@given(
    arrays.arrays(np.float64, st.tuples(st.integers(1, 30), st.integers(1, 6)), elements=st.integers(0, 4))
)
def test_places_are_competition_ranks(means: NDArray[np.float64]) -> None:
    """Ranks of every resample as SciPy gives them, ties sharing the smallest; shares of the lead add up."""
    shares = places(means)
    ranks = rankdata(-means, method="min", axis=1)
    assert shares.mean_rank == pytest.approx(ranks.mean(axis=0))
    assert shares.low.tolist() == np.quantile(ranks, 0.025, axis=0, method="inverted_cdf").tolist()
    assert shares.high.tolist() == np.quantile(ranks, 0.975, axis=0, method="inverted_cdf").tolist()
    leads = ranks == 1
    assert shares.first == pytest.approx((leads / leads.sum(axis=1, keepdims=True)).mean(axis=0))


def test_means_equal_but_for_rounding_share_a_rank() -> None:
    """0.1 + 0.2 does not beat 0.3."""
    shares = places(np.array([[0.3, 0.1 + 0.2, 0.1]]))
    assert shares.first.tolist() == [0.5, 0.5, 0.0]
    assert shares.high.tolist() == [1, 1, 3]


@pytest.mark.parametrize("confidence", [0.5, 0.95])
def test_intervals_are_those_of_the_definition(confidence: float) -> None:
    """Run by run and pair by pair: SciPy's paired t test at Bonferroni's level."""
    rng = np.random.default_rng(8)
    scores = rng.random((6, 15)) + np.linspace(0, 0.8, 6)[:, None]
    intervals = rank_intervals(scores, confidence=confidence)
    for run in range(6):
        others = [other for other in range(6) if other != run]
        tests = [ttest_rel(scores[other], scores[run]) for other in others]
        for low, high, comparisons in (
            (intervals.low, intervals.high, 5),
            (intervals.all_low, intervals.all_high, 15),
        ):
            apart = [test.pvalue < (1 - confidence) / comparisons for test in tests]
            better = [test.statistic > 0 for test in tests]
            assert low[run] == 1 + sum(map(and_, apart, better))
            assert high[run] == 6 - sum(apart) + sum(map(and_, apart, better))


@given(SCORES)
def test_intervals_hold_the_rank_on_the_board_and_widen_for_all_at_once(scores: NDArray[np.float64]) -> None:
    """1 <= all_low <= low <= rank <= high <= all_high <= n, whatever the scores."""
    intervals = rank_intervals(scores)
    means = scores.sum(axis=1).round(9)
    best, worst = rankdata(-means, method="min"), rankdata(-means, method="max")
    assert (intervals.all_low >= 1).all()
    assert (intervals.all_low <= intervals.low).all()
    assert (intervals.low <= best).all()
    assert (worst <= intervals.high).all()
    assert (intervals.high <= intervals.all_high).all()
    assert (intervals.all_high <= len(scores)).all()


def test_a_constant_difference_is_certain_and_identical_runs_are_not_apart() -> None:
    """The first run is better by 0.25 on every topic than two that are the same."""
    below = np.array([0.25, 0.5, 0.125, 0.75])
    intervals = rank_intervals(np.array([below + 0.25, below, below]))
    assert (intervals.all_low.tolist(), intervals.all_high.tolist()) == ([1, 2, 2], [1, 3, 3])


@pytest.mark.parametrize("scores", [np.array([[0.9], [0.1], [0.5]]), np.array([[0.3, 0.4]])])
def test_nothing_is_known_of_one_topic_and_everything_of_one_run(scores: NDArray[np.float64]) -> None:
    """From 1 to n."""
    intervals = rank_intervals(scores)
    assert intervals.low.tolist() == intervals.all_low.tolist() == [1] * len(scores)
    assert intervals.high.tolist() == intervals.all_high.tolist() == [len(scores)] * len(scores)
