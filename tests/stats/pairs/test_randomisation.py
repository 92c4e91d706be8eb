"""Fisher's test: worked numbers, SciPy's exact one, and draws that stay the same."""

import numpy as np
import pytest
from hypothesis import given, settings
from numpy.typing import NDArray
from scipy import stats

from leaderboard.stats.pairs import randomisation as module
from leaderboard.stats.pairs.condensed import pairs
from leaderboard.stats.pairs.randomisation import randomisation
from tests.stats.worked import TABLES, WORKED, generated, plain


def test_worked_example() -> None:
    """All 32 flips of five topics."""
    result = randomisation(WORKED, seed=1)
    assert result.p.tolist() == [0.125, 0.25, 0.75]
    assert result.smallest.tolist() == [0.125, 0.125, 0.0625]
    assert result.resamples is None


@pytest.mark.parametrize("topics", [2, 9, 14])
def test_few_topics_agree_with_scipy(topics: int) -> None:
    """permutation_test over all flips, on scores with many ties."""
    scores = np.round(generated(4, topics), 1)
    result = randomisation(scores, seed=1)
    for i, j, p in zip(*pairs(4), result.p, strict=True):
        flips = {"permutation_type": "samples", "n_resamples": np.inf, "vectorized": True}
        theirs = stats.permutation_test([scores[i] - scores[j]], np.sum, **flips)
        assert p == pytest.approx(theirs.pvalue, abs=1e-12)


def test_draws_come_near_all_flips(monkeypatch: pytest.MonkeyPatch) -> None:
    """Within four standard errors for each of 28 pairs."""
    scores = generated(8, 13)
    exact = randomisation(scores, seed=1).p
    monkeypatch.setattr(module, "EXACT_TOPICS", 0)
    drawn = randomisation(scores, seed=1, resamples=40_000)
    assert drawn.resamples == 40_000
    assert (np.abs(drawn.p - exact) < 4 * np.sqrt(exact * (1 - exact) / 40_000) + 1e-4).all()


def test_many_topics_are_thrown_in_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each topic has its own coin in whichever part: p come near the t test's."""
    monkeypatch.setattr(module, "TOPICS", 16)
    scores = generated(6, 70)
    first, second = pairs(6)
    theirs = stats.ttest_rel(scores[first], scores[second], axis=1).pvalue
    result = randomisation(scores, seed=2, resamples=20_000)
    assert np.abs(result.p - theirs).max() < 0.03


def test_the_same_seed_gives_the_same_p_for_ever() -> None:
    """And another seed others."""
    scores = plain(3, 50)
    result = randomisation(scores, seed=7, resamples=10_000).p * 10_001
    assert np.rint(result).tolist() == [1918, 29, 2334]
    assert (randomisation(scores, seed=7, resamples=10_000).p * 10_001 == result).all()
    assert (randomisation(scores, seed=8, resamples=10_000).p * 10_001 != result).all()


def test_no_p_is_zero() -> None:
    """A run that wins every topic gets one in as many as were drawn, and one."""
    scores = generated(2, 60) / 2
    scores[0] = scores[1] + 0.3
    result = randomisation(scores, seed=1, resamples=999)
    assert result.p.tolist() == result.smallest.tolist() == [0.001]
    assert randomisation(scores[[0, 0]], seed=1, resamples=999).p.tolist() == [1.0]


def test_a_flip_that_ties_counts_however_it_is_rounded() -> None:
    """Differences of 0.1, written as 0.3 - 0.2 or 0.8 - 0.7, are equal."""
    scores = np.array([[0.3, 0.8, 0.6], [0.2, 0.7, 0.5]])
    assert randomisation(scores, seed=1).p.tolist() == [0.25]
    assert randomisation(np.tile(scores, 10), seed=1, resamples=999).p.tolist() == [0.001]


def test_no_flips_are_refused() -> None:
    """They would say nothing."""
    with pytest.raises(ValueError, match="0 flips"):
        randomisation(WORKED, seed=1, resamples=0)


@settings(max_examples=30)
@given(TABLES)
def test_nothing_is_undefined(scores: NDArray[np.float64]) -> None:
    """Any scores give a p from above 0 to 1, none below the smallest."""
    result = randomisation(scores, seed=1)
    assert ((result.p >= result.smallest) & (result.p <= 1) & (result.smallest > 0)).all()
