"""Reliability of a board: worked numbers, an analysis of variance by statsmodels, SciPy's tau."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays
from numpy.typing import NDArray
from scipy.stats import kendalltau

from leaderboard.stats.reliability import Reliability, reliability, split_half

WORKED = np.array([[5, 4, 7, 2, 6], [4, 4, 5, 1, 5], [3, 5, 4, 2, 3]]) / 10
SCORES = arrays.arrays(
    np.float64,
    st.tuples(st.integers(2, 8), st.integers(2, 9)),
    elements=st.integers(0, 20).map(lambda n: n / 20),
)


def test_worked_example() -> None:
    """Three runs on five topics, worked out by hand."""
    components = reliability(WORKED)
    assert components.runs == pytest.approx(0.003333, abs=5e-7)
    assert components.topics == pytest.approx(0.016333, abs=5e-7)
    assert components.residual == pytest.approx(0.009333, abs=5e-7)
    assert components.order == pytest.approx(0.641026, abs=5e-7)
    assert components.absolute == pytest.approx(0.393701, abs=5e-7)


def test_agrees_with_the_mean_squares_of_statsmodels() -> None:
    """Components and coefficients from an ordinary least squares fit of runs and topics."""
    formula = pytest.importorskip("statsmodels.formula.api")
    anova_lm = pytest.importorskip("statsmodels.stats.anova").anova_lm
    scores = np.random.default_rng(5).beta(2, 5, (6, 12)) + np.linspace(0, 0.3, 6)[:, None]
    run, topic = np.indices(scores.shape)
    frame = pytest.importorskip("pandas").DataFrame
    columns = frame({"y": scores.ravel(), "run": run.ravel(), "topic": topic.ravel()})
    table = anova_lm(formula.ols("y ~ C(run) + C(topic)", columns).fit())
    ms_run, ms_topic, ms_rest = table["sum_sq"] / table["df"]
    components = reliability(scores)
    assert components.runs == pytest.approx((ms_run - ms_rest) / 12, rel=1e-10)
    assert components.topics == pytest.approx((ms_topic - ms_rest) / 6, rel=1e-10)
    assert components.residual == pytest.approx(ms_rest, rel=1e-10)
    assert components.order == pytest.approx(1 - ms_rest / ms_run, rel=1e-10)


@given(SCORES)
def test_coefficients_are_shares_and_the_order_is_the_surer_of_the_two(scores: NDArray[np.float64]) -> None:
    """0 <= Φ <= E ρ² <= 1, whatever the scores."""
    components = reliability(scores)
    assert 0 <= components.absolute <= components.order <= 1
    assert min(components.runs, components.topics, components.residual) >= 0


@given(st.floats(1e-4, 1), st.floats(1e-4, 1), st.sampled_from([0.5, 0.9, 0.95]))
def test_topics_needed_reach_the_share_and_one_less_does_not(
    runs: float, residual: float, share: float
) -> None:
    """The fewest topics for a coefficient, by its definition."""
    components = Reliability(runs=runs, topics=0.0, residual=residual, order=0.0, absolute=0.0)
    needed = components.topics_for_order(share)
    assert needed is not None
    assert runs / (runs + residual / needed) >= share - 1e-9
    assert needed == 1 or runs / (runs + residual / (needed - 1)) < share


def test_runs_that_do_not_differ_have_no_order() -> None:
    """Identical runs, and runs that differ less than chance: 0, and no number of topics helps."""
    for scores in (
        np.full((3, 4), 0.5),
        np.tile([0.1, 0.7, 0.3], (4, 1)),
        np.tile([0.1, 0.7, 0.3, 0.9, 0.2, 0.6, 1 / 3], (7, 1)),
        np.array([[0.0, 1.0], [1.0, 0.0]]),
    ):
        components = reliability(scores)
        assert (components.runs, components.order, components.absolute) == (0.0, 0.0, 0.0)
        assert components.topics_for_order() is None


def test_runs_that_all_topics_place_alike_are_certain() -> None:
    """A constant difference on every topic: the order is certain, the means are not."""
    components = reliability(np.array([[0.25, 0.5, 0.75], [0.5, 0.75, 1.0]]))
    assert components.order == 1.0
    assert components.absolute < 1
    assert components.topics_for_order() == 1


@given(arrays.arrays(np.int64, st.tuples(st.integers(2, 8), st.just(2)), elements=st.integers(0, 5)))
def test_two_topics_split_in_one_way(scores: NDArray[np.int64]) -> None:
    """Then every split gives SciPy's tau_b between the two topics, 0 where one ties all runs."""
    halves = split_half(scores.astype(np.float64), seed=7, splits=3)
    tau = kendalltau(*scores.T).statistic if all(np.ptp(topic) for topic in scores.T) else 0.0
    assert (halves.low, halves.median, halves.high) == pytest.approx((tau, tau, tau), abs=1e-12)


def test_an_odd_topic_is_left_out() -> None:
    """Three topics: every split compares two of them."""
    scores = np.array([[3.0, 3, 1], [2, 2, 2], [1, 1, 3], [0, 0, 0]])
    halves = split_half(scores, seed=2, splits=200)
    assert (halves.low, halves.high) == (0.0, 1.0)
    assert halves.median == 0.0


def test_ties_but_for_rounding_are_ties() -> None:
    """0.1 + 0.2 and 0.3 are the same score, so that no topic tells these runs apart."""
    scores = np.array([[0.1 + 0.2, 0.7], [0.3, 0.7]])
    assert split_half(scores, seed=1, splits=2).median == 0.0


def test_the_same_seed_splits_alike_for_ever() -> None:
    """Pinned numbers: they come from NumPy's raw stream, which does not change."""
    scores = np.arange(5.0)[:, None] + np.arange(100).reshape(5, 20) * 37 % 11
    halves = split_half(scores, seed=20, splits=100)
    assert (halves.low, halves.median, halves.high) == pytest.approx((-0.01, 0.6, 0.81), abs=1e-12)


def test_splits_do_not_depend_on_the_size_of_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    """All at once or one by one."""
    scores = np.random.default_rng(3).random((6, 11))
    whole = split_half(scores, seed=5, splits=40)
    monkeypatch.setattr("leaderboard.stats.reliability._BLOCK", 1)
    assert split_half(scores, seed=5, splits=40) == whole


@pytest.mark.parametrize("shape", [(1, 5), (5, 1)])
def test_refuses_one_run_or_one_topic(shape: tuple[int, int]) -> None:
    """There is nothing to tell then."""
    with pytest.raises(ValueError, match="two runs and two topics"):
        reliability(np.ones(shape))
    with pytest.raises(ValueError, match="two runs and two topics"):
        split_half(np.ones(shape), seed=1)
