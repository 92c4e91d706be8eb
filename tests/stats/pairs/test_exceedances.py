"""Counting over all pairs at once against counting pair by pair."""

import numpy as np
import pytest
from hypothesis import given
from numpy.typing import NDArray

from leaderboard.stats.pairs.condensed import pairs
from leaderboard.stats.pairs.signed_rank import BLOCK, EXACT, exceedances, whole_numbers
from tests.stats.worked import TABLES


@pytest.mark.parametrize("runs", [2, 3, 70])
@pytest.mark.parametrize("resamples", [1, 7, BLOCK - 1, BLOCK, 2 * BLOCK + 9])
def test_counts_are_those_of_each_pair(runs: int, resamples: int) -> None:
    """For few runs and many, full blocks and begun ones."""
    random = np.random.default_rng(resamples)
    blocks = random.integers(-9, 10, (-(-resamples // BLOCK), runs, BLOCK)).astype(np.float64)
    first, second = pairs(runs)
    least = random.integers(0, 12, len(first)).astype(np.float64)
    told: list[float] = []
    counts = exceedances(lambda number: blocks[number], resamples, least, told.append)
    sums = np.hstack(list(blocks))[:, :resamples]
    expected = [
        np.count_nonzero(np.abs(sums[i] - sums[j]) >= bound)
        for i, j, bound in zip(first, second, least, strict=True)
    ]
    assert counts.tolist() == expected
    assert told == sorted(told)
    assert told[-1] == 1.0


@given(TABLES)
def test_whole_numbers_add_up_in_any_order(scores: NDArray[np.float64]) -> None:
    """Their sums are exact, so that no library's order of adding matters; they are the scores but for a
    factor and rounding."""
    largest = float(np.abs(scores).sum(axis=1).max())
    whole = whole_numbers(scores, largest)
    assert (whole == np.rint(whole)).all()
    assert np.abs(whole).sum(axis=1).max() <= EXACT + scores.shape[1]
    exact = [sum(int(value) for value in run) for run in whole]
    assert exact == whole.sum(axis=1).tolist() == whole[:, ::-1].cumsum(axis=1)[:, -1].tolist()
    if largest:
        factor = whole.max() / scores.max()
        assert whole == pytest.approx(scores * factor, rel=1e-12, abs=1)
