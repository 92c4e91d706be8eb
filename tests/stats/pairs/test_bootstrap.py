"""The bootstrap: all resamples of few topics, SciPy's intervals, and draws that stay the same."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from numpy.typing import NDArray
from scipy import stats

from leaderboard.stats.pairs import bootstrap as module
from leaderboard.stats.pairs.bootstrap import bootstrap, bootstrap_intervals, topic_counts
from leaderboard.stats.pairs.condensed import pairs
from leaderboard.stats.seeds import stream
from tests.stats.worked import TABLES, WORKED, generated, plain


def test_topics_are_drawn_with_replacement() -> None:
    """As many as there are, each as likely."""
    counts = topic_counts(stream(1), 20_000, 5)
    assert (counts.sum(axis=1) == 5).all()
    assert counts.mean(axis=0) == pytest.approx([1] * 5, abs=0.03)
    assert counts.var(axis=0) == pytest.approx([0.8] * 5, abs=0.04)


def test_p_comes_near_all_resamples() -> None:
    """The worked example has 3,125: within four standard errors for each pair."""
    first, second = pairs(3)
    difference = WORKED[first] - WORKED[second]
    every = np.array([difference[:, list(drawn)].mean(axis=1) for drawn in product(range(5), repeat=5)])
    mean = difference.mean(axis=1)
    exact = (np.abs(every - mean) >= np.abs(mean) - 1e-12).mean(axis=0)
    result = bootstrap(WORKED, seed=1, resamples=50_000)
    assert result.resamples == 50_000
    assert (np.abs(result.p - exact) < 4 * np.sqrt(exact * (1 - exact) / 50_000) + 1e-4).all()


def test_many_topics_are_drawn_in_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    """However few counts are held at once: p come near the t test's."""
    monkeypatch.setattr(module, "AT_ONCE", 1000)
    scores = generated(6, 70)
    first, second = pairs(6)
    theirs = stats.ttest_rel(scores[first], scores[second], axis=1).pvalue
    assert np.abs(bootstrap(scores, seed=2, resamples=20_000).p - theirs).max() < 0.03


def test_the_same_seed_gives_the_same_p_for_ever() -> None:
    """And another seed others."""
    scores = plain(3, 50)
    result = bootstrap(scores, seed=7, resamples=10_000).p * 10_001
    assert np.rint(result).tolist() == [1850, 17, 2187]
    assert (bootstrap(scores, seed=8, resamples=10_000).p * 10_001 != result).all()


@pytest.mark.parametrize("method", ["percentile", "BCa"])
def test_intervals_agree_with_scipy(method: str) -> None:
    """With resamples of its own: within a few hundredths of the interval's width."""
    scores = generated(4, 30)
    intervals = bootstrap_intervals(scores, seed=1, resamples=40_000, confidence=0.9)
    ends = intervals[:2] if method == "percentile" else intervals[2:]
    for i, j, low, high in zip(*pairs(4), *ends, strict=True):
        drawn = {"n_resamples": 20_000, "confidence_level": 0.9, "rng": np.random.default_rng(1)}
        theirs = stats.bootstrap([scores[i] - scores[j]], np.mean, method=method, **drawn)
        width = theirs.confidence_interval.high - theirs.confidence_interval.low
        assert (low, high) == pytest.approx(theirs.confidence_interval, abs=0.02 * width)


def test_skewed_differences_move_the_corrected_interval() -> None:
    """Towards the long tail."""
    skewed = np.random.default_rng(1).exponential(1, 30)
    intervals = bootstrap_intervals(np.array([skewed, np.zeros(30)]), seed=1)
    assert intervals.corrected_low.item() > intervals.low.item()
    assert intervals.corrected_high.item() > intervals.high.item()


def test_a_constant_difference_has_no_width() -> None:
    """Every resample gives the same mean."""
    intervals = bootstrap_intervals(np.array([[0.5, 0.75, 1.0], [0.25, 0.5, 0.75]]), seed=1, resamples=100)
    assert [end.item() for end in intervals] == pytest.approx([0.25] * 4)


def test_one_topic_leaves_nothing_to_draw() -> None:
    """p 1, and no smaller one possible."""
    result = bootstrap(np.array([[0.5], [0.2]]), seed=1, resamples=100)
    assert (result.p.item(), result.smallest.item()) == (1, 1)


def test_what_cannot_be_drawn_is_refused() -> None:
    """No resamples, or a confidence that is none."""
    with pytest.raises(ValueError, match="0 resamples"):
        bootstrap(WORKED, seed=1, resamples=0)
    with pytest.raises(ValueError, match="0 resamples"):
        bootstrap_intervals(WORKED, seed=1, resamples=0)
    with pytest.raises(ValueError, match="not between 0 and 1"):
        bootstrap_intervals(WORKED, seed=1, confidence=1.0)


@settings(max_examples=30)
@given(TABLES)
def test_nothing_is_undefined(scores: NDArray[np.float64]) -> None:
    """Any scores give a p above 0, and intervals in order."""
    result = bootstrap(scores, seed=1, resamples=500)
    assert ((result.p >= result.smallest) & (result.p <= 1)).all()
    ends = bootstrap_intervals(scores, seed=1, resamples=500)
    assert (ends.low <= ends.high).all()
    assert (ends.corrected_low <= ends.corrected_high).all()
