"""Two runs by every test: the worked case, the library's numbers, and what cannot be said."""

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import ttest_rel, wilcoxon

from leaderboard.stats.orders.two_rankings import compare_rankings
from leaderboard.stats.pairs.methods import all_pairs, method
from leaderboard.stats.standing import compare_scores, resamples_of, two_runs_facts

FIRST = np.array([0.5, 0.4, 0.7, 0.2, 0.6])
SECOND = np.array([0.4, 0.4, 0.5, 0.1, 0.5])
KEYS = {
    "measure", "topics", "mean_a", "mean_b", "difference", "interval", "wins", "ties", "losses",
    "topics_needed", "effect_size", "tests", "rankings",
}  # fmt: skip
SCORES = st.lists(st.tuples(*[st.integers(0, 20)] * 2), min_size=1, max_size=12)


def test_the_worked_case() -> None:
    """Five topics, worked by hand."""
    comparison = compare_scores(FIRST, SECOND, seed=1)
    assert (comparison.wins, comparison.ties, comparison.losses, comparison.topics) == (4, 1, 0, 5)
    assert comparison.tests["t"] == pytest.approx(0.034109, abs=5e-7)
    assert (comparison.tests["sign"], comparison.tests["randomisation"]) == (0.125, 0.125)
    assert (comparison.low, comparison.high) == (
        pytest.approx(0.012201, abs=5e-7),
        pytest.approx(0.187799, abs=5e-7),
    )
    assert comparison.effects["d_z"] == pytest.approx(1.414214, abs=5e-7)
    assert comparison.effects["superiority"] == 0.9
    assert comparison.likely == pytest.approx((0.012693, 0.010598, 0.976709), abs=5e-7)
    assert comparison.bootstrap is not None
    assert 0 < comparison.bootstrap[0] < comparison.difference < comparison.bootstrap[1] < 0.2


def test_tests_are_scipys() -> None:
    """The paired t test and Wilcoxon's on forty topics."""
    first, second = np.random.default_rng(2).random((2, 40))
    comparison = compare_scores(first, second, seed=1)
    t = ttest_rel(first, second)
    assert comparison.tests["t"] == pytest.approx(t.pvalue, abs=1e-12)
    assert comparison.low == pytest.approx(t.confidence_interval().low, abs=1e-12)
    ranks = wilcoxon(first - second, method="asymptotic", zero_method="wilcox", correction=False)
    assert comparison.tests["wilcoxon"] == pytest.approx(ranks.pvalue, abs=1e-12)


def test_lower_may_be_better() -> None:
    """Wins go to the smaller score; difference and interval stay as the measure prints them."""
    comparison = compare_scores(SECOND, FIRST, seed=1, lower_is_better=True)
    assert (comparison.wins, comparison.losses) == (4, 0)
    assert comparison.difference == pytest.approx(-0.1)
    assert comparison.low == pytest.approx(-0.187799, abs=5e-7)
    effect = comparison.effects["d_z"]
    assert effect is not None
    assert effect > 0


def test_what_is_undefined_is_none() -> None:
    """One topic has no test, a constant difference no effect size, two equal runs neither."""
    alone = compare_scores(FIRST[:1], SECOND[:1], seed=1)
    assert set(alone.tests.values()) == {None}
    assert (alone.low, alone.high, alone.constant) == (None, None, False)
    constant = compare_scores(np.ones(6), np.zeros(6), seed=1)
    assert constant.constant
    assert (constant.tests["t"], constant.effects["d_z"]) == (0.0, None)
    same = compare_scores(FIRST, FIRST, seed=1)
    assert same.constant
    assert set(same.tests.values()) == {1.0}
    assert (same.effects["d_z"], same.ties) == (0.0, 5)


def test_skewed_differences_are_found() -> None:
    """One topic that outweighs twenty small losses: the t test and Fisher's are far apart."""
    first, second = np.zeros(21), np.full(21, 0.01)
    first[0] = 1.0
    skewed = compare_scores(first, second, seed=1)
    t, fisher = skewed.tests["t"], skewed.tests["randomisation"]
    assert t is not None
    assert fisher is not None
    assert skewed.skewed
    assert abs(t - fisher) > 0.02
    assert not compare_scores(FIRST[:1], SECOND[:1], seed=1).skewed
    even = np.random.default_rng(3).normal(size=(2, 40))
    assert not compare_scores(*even, seed=1).skewed


def test_many_topics_are_resampled_less_often() -> None:
    """What was drawn is told, and it is the p of that number of resamples with this seed."""
    first, second = np.random.default_rng(4).random((2, 1250))
    comparison = compare_scores(first, second, seed=5)
    assert resamples_of(1250) == 8_000
    assert comparison.resamples == {
        **dict.fromkeys(comparison.tests),
        "randomisation": 8_000,
        "bootstrap": 8_000,
    }
    same = all_pairs(np.array([first, second]), method("randomisation+none"), seed=5, resamples=8_000)
    assert comparison.tests["randomisation"] == same.p[0]


def test_facts_are_the_object_of_the_command_line() -> None:
    """All keys, with the rankings under the names that say how they were compared."""
    rankings = compare_rankings([["a", "b"], []], [["b", "a"], ["c"]])
    comparison = two_runs_facts(compare_scores(FIRST, SECOND, seed=1), rankings, "AP")
    assert set(comparison) == KEYS
    assert comparison["topics_needed"] == 8
    assert set(comparison["tests"]) == {"t", "guarded_t", "wilcoxon", "sign", "randomisation", "bootstrap"}
    assert {"overlap@10", "rbo_ext(p=0.9)", "kendall_fagin(p=0.5)@10"} <= set(comparison["rankings"])
    assert two_runs_facts(compare_scores(FIRST, SECOND, seed=1), None, "AP")["rankings"] == {}


@given(SCORES)
def test_nothing_is_ever_no_number(pairs: list[tuple[int, int]]) -> None:
    """Whatever the scores, the facts are strict JSON, and no resampled p is 0."""
    first, second = np.array(pairs).T / 20
    comparison = compare_scores(first, second, seed=1)
    json.dumps(two_runs_facts(comparison, None, "AP"), allow_nan=False)
    assert comparison.tests["bootstrap"] != 0
    assert comparison.tests["randomisation"] != 0
    assert comparison.wins + comparison.ties + comparison.losses == len(pairs)


@given(SCORES)
def test_the_other_way_round_only_signs_change(pairs: list[tuple[int, int]]) -> None:
    """The same p, the difference negated, wins for losses."""
    first, second = np.array(pairs).T / 20
    one, two = compare_scores(first, second, seed=1), compare_scores(second, first, seed=1)
    assert one.tests == pytest.approx(two.tests, abs=1e-12)
    assert (one.wins, one.difference) == (two.losses, -two.difference)
