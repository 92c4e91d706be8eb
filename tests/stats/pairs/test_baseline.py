"""All runs against a baseline: corrected over the pairs with it, and what could have been found."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import ttest_rel, wilcoxon

from leaderboard.stats.pairs.baseline import against_baseline
from leaderboard.stats.pairs.condensed import square
from leaderboard.stats.pairs.methods import PairTable, all_pairs, method

SCORES = np.array([[0.5, 0.4, 0.7, 0.2, 0.6], [0.4, 0.4, 0.5, 0.1, 0.5], [0.3, 0.5, 0.4, 0.2, 0.3]])
"""T9: three runs, five topics."""


def drawn(runs: int, topics: int, seed: int = 1) -> np.ndarray:
    """Runs that share the topics' difficulty, the later ones better."""
    source = np.random.default_rng(seed)
    hard, noise = source.normal(size=topics), source.normal(size=(runs, topics))
    return hard + noise + 0.5 * np.arange(runs)[:, None]


def compared(scores: np.ndarray, key: str, resamples: int | None = None) -> PairTable:
    """All pairs by the method of a key."""
    return all_pairs(scores, method(key), seed=1, resamples=resamples)


def test_the_hand_worked_case_is_corrected_over_two_pairs() -> None:
    """T9 against its first run: t p .034109 and .159935, by Holm over two pairs .068218 and .159935."""
    against = against_baseline(compared(SCORES, "t+holm"), SCORES, 0)
    assert against.adjusted == pytest.approx([1, 0.068218, 0.159935], abs=1e-6)
    assert against.verdicts.tolist() == [0, 0, 0]


@pytest.mark.parametrize(
    ("correction", "expected"),
    [
        ("holm", [0.015, 0.02, 0.3]),
        ("bonferroni", [0.015, 0.03, 0.9]),
        ("bh", [0.015, 0.015, 0.3]),
        ("none", [0.005, 0.01, 0.3]),
    ],
)
def test_each_correction_is_over_the_runs_less_one(correction: str, expected: list[float]) -> None:
    """p of .005, .01 and .3 with the baseline, adjusted by hand over three."""
    p = np.array([0.005, 0.01, 0.3, 0.001, 0.002, 0.003])
    table = PairTable(method(f"t+{correction}"), 4, np.ones(6), np.zeros(6), np.ones(6), p, p, p, None, True)
    against = against_baseline(table, drawn(4, 9), 0)
    assert against.adjusted[1:] == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("test", ["t", "wilcoxon"])
def test_p_are_scipys(test: str) -> None:
    """Uncorrected, the p of every run with the baseline are those of SciPy's tests of the pair."""
    scores = drawn(5, 30)
    against = against_baseline(compared(scores, f"{test}+none"), scores, 2)
    for run in (0, 1, 3, 4):
        if test == "t":
            expected = ttest_rel(scores[run], scores[2]).pvalue
        else:
            expected = wilcoxon(scores[run], scores[2], method="asymptotic").pvalue
        assert against.adjusted[run] == pytest.approx(expected, abs=1e-12)


def test_a_verdict_has_the_direction_of_the_difference() -> None:
    """Runs above the baseline are better, those below worse, those near it undecided."""
    scores = np.vstack([drawn(1, 40) + shift for shift in (-2, 0.0, 2)]) + np.random.default_rng(3).normal(
        scale=0.1, size=(3, 40)
    )
    against = against_baseline(compared(scores, "t+holm"), scores, 1)
    assert against.verdicts.tolist() == [-1, 0, 1]


def test_fewer_pairs_may_be_reachable_where_all_are_not() -> None:
    """With 9 topics the sign test gives .0039 at best: enough for 5 pairs of a baseline, not for 15."""
    scores = drawn(6, 9)
    table = compared(scores, "sign+bonferroni")
    assert not table.reachable
    assert against_baseline(table, scores, 0).reachable


@pytest.mark.parametrize(
    ("key", "topics", "reachable"),
    [
        ("t+holm", 1, False),
        ("t+holm", 2, True),
        ("sign+holm", 5, False),
        ("wilcoxon+holm", 4, False),
        ("wilcoxon+holm", 9, True),
    ],
)
def test_too_few_topics_are_known(key: str, topics: int, reachable: bool) -> None:
    """Where even a run that is better on every topic could not be told apart, that is said."""
    scores = drawn(3, topics)
    assert against_baseline(compared(scores, key), scores, 0).reachable is reachable


@pytest.mark.parametrize(("resamples", "reachable"), [(30, False), (99, True)])
@pytest.mark.parametrize("test", ["randomisation", "bootstrap"])
def test_too_few_resamples_are_known(test: str, resamples: int, reachable: bool) -> None:
    """With B resamples no p is below 1/(B + 1): for two pairs by Bonferroni 40 are needed."""
    scores = drawn(3, 20)
    table = compared(scores, f"{test}+bonferroni", resamples)
    assert against_baseline(table, scores, 1).reachable is reachable


def test_tukeys_stay_corrected_for_all_pairs() -> None:
    """Test and correction in one are not corrected anew."""
    scores = drawn(4, 20)
    table = compared(scores, "tukey")
    against = against_baseline(table, scores, 3)
    assert against.adjusted.tolist() == square(table.adjusted, 4, mirrored=1, diagonal=1.0)[3].tolist()
    assert against.reachable


@pytest.mark.parametrize("baseline", [-1, 3])
def test_an_unknown_baseline_is_refused(baseline: int) -> None:
    """A place that is none of the runs raises ValueError."""
    with pytest.raises(ValueError, match="no run"):
        against_baseline(compared(SCORES, "t+holm"), SCORES, baseline)


@settings(deadline=None, max_examples=30)
@given(
    st.integers(2, 6),
    st.integers(2, 12),
    st.integers(0, 99),
    st.sampled_from(["t+holm", "t+bh", "sign+bonferroni"]),
)
def test_fewer_pairs_never_cost_a_finding(runs: int, topics: int, seed: int, key: str) -> None:
    """An adjusted p against a baseline is never above that over all pairs for Holm and Bonferroni."""
    scores = drawn(runs, topics, seed)
    table = compared(scores, key)
    against = against_baseline(table, scores, 0)
    every = square(table.adjusted, runs, mirrored=1, diagonal=1.0)[0]
    assert ((against.adjusted <= every + 1e-15) | (method(key).correction.name == "bh")).all()
    assert against.adjusted[0] == 1
