"""Corrections: worked numbers, statsmodels and what every correction keeps."""

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays
from numpy.typing import NDArray

from leaderboard.stats.pairs.corrections import benjamini_hochberg, bonferroni, holm

FloatArray = NDArray[np.float64]
EIGHT = np.array([0.001, 0.008, 0.039, 0.041, 0.042, 0.06, 0.074, 0.205])
CORRECTIONS = {"holm": holm, "bonferroni": bonferroni, "fdr_bh": benjamini_hochberg}
VALUES = arrays.arrays(np.float64, st.integers(0, 20), elements=st.sampled_from([0.0, 0.01, 0.02, 0.5, 1.0]))


def test_worked_example() -> None:
    """Eight p-values, in any order."""
    for order in (slice(None), slice(None, None, -1), [3, 0, 7, 1, 6, 2, 5, 4]):
        assert holm(EIGHT[order]) == pytest.approx(np.array([0.008, 0.056, *[0.234] * 6])[order], rel=1e-12)
        rates = np.array([0.008, 0.032, 0.0672, 0.0672, 0.0672, 0.08, 0.084571, 0.205])[order]
        assert benjamini_hochberg(EIGHT[order]) == pytest.approx(rates, abs=5e-7)


def test_worked_pairs() -> None:
    """The three pairs of the worked example of the paired t."""
    p = np.array([0.034109, 0.159935, 0.541470])
    assert holm(p) == pytest.approx([0.102328, 0.319870, 0.541470], abs=2e-6)
    assert benjamini_hochberg(p) == pytest.approx([0.102328, 0.239902, 0.541470], abs=2e-6)


@pytest.mark.parametrize("name", CORRECTIONS)
def test_agrees_with_statsmodels(name: str) -> None:
    """On 1,000 p-values, many of them tied."""
    multitest = pytest.importorskip("statsmodels.stats.multitest")
    p = np.round(np.random.default_rng(1).beta(0.3, 2, 1000), 3)
    theirs = multitest.multipletests(p, method=name)[1]
    assert CORRECTIONS[name](p) == pytest.approx(theirs, rel=1e-12)


@pytest.mark.parametrize("correct", CORRECTIONS.values())
@given(p=VALUES)
def test_every_correction_raises_p_and_keeps_their_order(
    correct: Callable[[FloatArray], FloatArray], p: FloatArray
) -> None:
    """Adjusted p are from p to 1 and in the order of p; the argument stays as it was."""
    before = p.copy()
    adjusted = correct(p)
    assert (p == before).all()
    assert ((adjusted >= p) & (adjusted <= 1)).all()
    assert (np.diff(adjusted[np.argsort(p, kind="stable")]) >= 0).all()


@given(VALUES)
def test_holm_lies_between(p: FloatArray) -> None:
    """It never finds less than Bonferroni nor more than Benjamini and Hochberg."""
    assert (holm(p) <= bonferroni(p)).all()
    assert (benjamini_hochberg(p) <= holm(p) + 1e-15).all()
