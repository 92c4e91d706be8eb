"""Wilcoxon's test: SciPy, R's continuity correction, and ties of every kind."""

import numpy as np
import pytest
from hypothesis import given
from numpy.typing import NDArray
from scipy import stats

from leaderboard.stats.pairs.condensed import pairs
from leaderboard.stats.pairs.signed_rank import signed_rank
from tests.stats.worked import TABLES, WORKED, generated


@pytest.mark.parametrize("correction", [False, True])
@pytest.mark.parametrize("digits", [1, 2, 16])
def test_agrees_with_scipy(digits: int, correction: bool) -> None:
    """With many ties, some and none, within 1e-12."""
    scores = np.round(generated(30, 50), digits)
    first, second = pairs(30)
    result = signed_rank(scores, correction=correction)
    theirs = stats.wilcoxon(
        scores[first] - scores[second],
        axis=1,
        method="asymptotic",
        zero_method="wilcox",
        correction=correction,
    )
    assert result.p == pytest.approx(theirs.pvalue, rel=1e-12)
    decided = np.count_nonzero(scores[first] != scores[second], axis=1)
    other = decided * (decided + 1) / 2 - result.positive
    assert np.minimum(result.positive, other) == pytest.approx(theirs.statistic, abs=0)


def test_the_smallest_p_is_that_of_one_sign() -> None:
    """The run that wins every topic, by the same differences, gets it."""
    scores = generated(2, 20)
    one_sided = np.array([np.abs(scores[0] - scores[1]), np.zeros(20)])
    assert signed_rank(scores).smallest == pytest.approx(signed_rank(one_sided).p)
    assert signed_rank(scores).p.item() > signed_rank(scores).smallest.item()


def test_identical_runs() -> None:
    """No rank, p 1 and no smaller one possible."""
    assert [values.item() for values in signed_rank(WORKED[[0, 0]])] == [0, 1, 1]


@given(TABLES)
def test_nothing_is_undefined(scores: NDArray[np.float64]) -> None:
    """Any scores give a p from above 0 to 1, none below the smallest."""
    result = signed_rank(scores)
    assert ((result.smallest > 0) & (result.p <= 1)).all()
    assert (result.p >= result.smallest * (1 - 1e-12)).all()
