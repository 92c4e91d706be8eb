"""Randomised Tukey HSD: all ways to deal out few scores, and draws that stay the same."""

from itertools import permutations, product

import numpy as np
import pytest
from numpy.typing import NDArray

from leaderboard.stats.pairs import randomised_tukey as module
from leaderboard.stats.pairs.condensed import pairs
from leaderboard.stats.pairs.randomisation import randomisation
from leaderboard.stats.pairs.randomised_tukey import randomised_tukey
from tests.stats.worked import WORKED, generated, plain

SHARED = 1 / module.LIBRARY
"""How much more a p varies, at most, than if every draw had orders of its own."""


def bound(p: NDArray[np.float64], resamples: int) -> NDArray[np.float64]:
    """Four standard errors of a p."""
    errors: NDArray[np.float64] = 4 * np.sqrt(p * (1 - p) * (1 / resamples + SHARED))
    return errors


def test_worked_example() -> None:
    """All 7,776 ways to deal out three scores a topic give the known p, and draws come near."""
    dealt = [np.array(list(permutations(topic))) for topic in WORKED.T]
    ranges = np.array([np.ptp(sum(rows)) for rows in product(*dealt)])
    sums = WORKED.sum(axis=1)
    first, second = pairs(3)
    exact = np.array([(ranges >= size - 1e-12).mean() for size in np.abs(sums[first] - sums[second])])
    assert exact == pytest.approx([0.472222, 0.169753, 0.962963], abs=5e-7)
    result = randomised_tukey(WORKED, seed=1)
    assert result.resamples == 100_000
    assert (np.abs(result.p - exact) < bound(exact, 100_000)).all()


def test_two_runs_are_fishers_test() -> None:
    """To deal two scores is to flip a difference."""
    scores = generated(2, 14)
    exact = randomisation(scores, seed=1).p
    assert np.abs(randomised_tukey(scores, seed=1).p - exact) < bound(exact, 100_000)


def test_groups_of_topics_give_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    """Sums of groups are dealt as topics are."""
    scores = generated(10, 60)
    whole = randomised_tukey(scores, seed=1, resamples=40_000).p
    monkeypatch.setattr(module, "GROUP", 20)
    grouped = randomised_tukey(scores, seed=2, resamples=40_000).p
    assert (np.abs(whole - grouped) < 1.5 * bound(whole, 40_000) + 1e-3).all()


def test_shared_orders_cost_little() -> None:
    """From seed to seed a p varies hardly more than with orders of its own for every draw."""
    scores = generated(12, 30)
    result = np.array([randomised_tukey(scores, seed=seed, resamples=4_000).p for seed in range(30)])
    mean = result.mean(axis=0)
    some = (mean > 0.02) & (mean < 0.5)
    assert np.count_nonzero(some) > 5
    expected = np.sqrt(mean[some] * (1 - mean[some]) / 4_000)
    assert (result[:, some].std(axis=0, ddof=1) / expected).mean() < 1.3


def test_the_same_seed_gives_the_same_p_for_ever() -> None:
    """However many are dealt at once, and another seed others."""
    scores = plain(3, 50)
    result = randomised_tukey(scores, seed=7, resamples=21_000).p * 21_001
    assert np.rint(result).tolist() == [8136, 455, 8136]
    assert (randomised_tukey(scores, seed=8, resamples=21_000).p * 21_001 != result).all()


def test_many_topics_stay_the_same_too() -> None:
    """Where libraries are made of groups."""
    scores = plain(3, 100)
    result = randomised_tukey(scores, seed=7, resamples=1_000).p * 1_001
    assert np.rint(result).tolist() == [41, 1, 75]


def test_no_p_is_zero_nor_below_what_topics_allow() -> None:
    """One in as many as were drawn, and one; with few topics more."""
    scores = np.array([np.linspace(0.5, 1, 40), np.linspace(0, 0.5, 40)])
    result = randomised_tukey(scores, seed=1, resamples=999)
    assert result.p.tolist() == result.smallest.tolist() == [0.001]
    few = randomised_tukey(scores[:, :4], seed=1, resamples=99_999)
    assert few.smallest.item() == 0.125
    assert few.p.item() == pytest.approx(0.125, abs=0.03)
    one = randomised_tukey(scores[:, :1], seed=1, resamples=99)
    assert (one.p.item(), one.smallest.item()) == (1, 1)
    assert randomised_tukey(scores[[0, 0]], seed=1, resamples=99).p.item() == 1


def test_progress_is_told() -> None:
    """From block to block, to the end."""
    told: list[float] = []
    randomised_tukey(WORKED, seed=1, resamples=50_000, progress=told.append)
    assert told == [0.4, 0.8, 1.0]


def test_no_resamples_are_refused() -> None:
    """They would say nothing."""
    with pytest.raises(ValueError, match="0 resamples"):
        randomised_tukey(WORKED, seed=1, resamples=0)
