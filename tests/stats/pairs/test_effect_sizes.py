"""Effect sizes: worked numbers, pingouin, and scores without a spread."""

import numpy as np
import pytest
from hypothesis import given
from numpy.typing import NDArray

from leaderboard.stats.pairs.condensed import pairs
from leaderboard.stats.standing import effect_sizes
from tests.stats.worked import TABLES, WORKED, generated


def test_worked_example() -> None:
    """Three runs on five topics."""
    effects = effect_sizes(WORKED)
    assert effects.d_z == pytest.approx([1.414214, 0.770675, 0.298142], abs=5e-7)
    assert effects.d_av == pytest.approx([0.559017, 0.885438, 0.282843], abs=5e-7)
    assert effects.g_z == pytest.approx(effects.d_z * 0.8)
    assert effects.superiority == pytest.approx([0.9, 0.7, 0.6])
    assert effects.wins.tolist() == [4, 3, 3]
    assert effects.ties.tolist() == [1, 1, 0]
    assert effects.losses.tolist() == [0, 1, 2]


def test_agrees_with_pingouin() -> None:
    """What it calls Cohen's d of paired samples is d_av."""
    pingouin = pytest.importorskip("pingouin")
    scores = generated(5, 40)
    effects = effect_sizes(scores)
    for i, j, d_av in zip(*pairs(5), effects.d_av, strict=True):
        theirs = pingouin.compute_effsize(scores[i], scores[j], paired=True, eftype="cohen")
        assert d_av == pytest.approx(theirs, rel=1e-12)


def test_no_spread_and_no_difference() -> None:
    """Infinite where the difference is constant, 0 where there is none or one topic only."""
    scores = np.array([[0.75, 0.75], [0.25, 0.25], [0.25, 0.25]])
    effects = effect_sizes(scores)
    assert effects.d_z.tolist() == effects.g_z.tolist() == effects.d_av.tolist() == [np.inf, np.inf, 0]
    alone = effect_sizes(scores[:, :1])
    assert alone.d_z.tolist() == alone.g_z.tolist() == alone.d_av.tolist() == [0, 0, 0]
    assert alone.superiority.tolist() == [1, 1, 0.5]


def test_a_tie_is_less_than_a_billionth() -> None:
    """As scores printed the same may differ in their last bits."""
    effects = effect_sizes(np.array([[0.5, 0.5, 0.5], [0.5 + 1e-10, 0.5 - 1e-10, 0.4]]))
    assert (effects.wins.item(), effects.ties.item(), effects.losses.item()) == (1, 2, 0)


@given(TABLES)
def test_nothing_is_undefined(scores: NDArray[np.float64]) -> None:
    """Any scores give numbers; every topic is won, tied or lost."""
    effects = effect_sizes(scores)
    assert not any(np.isnan(values).any() for values in effects)
    assert (effects.wins + effects.ties + effects.losses == scores.shape[1]).all()
    assert ((effects.superiority >= 0) & (effects.superiority <= 1)).all()
