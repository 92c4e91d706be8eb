"""The sign test: worked numbers and SciPy's exact binomial test."""

import numpy as np
import pytest
from scipy import stats

from leaderboard.stats.pairs.sign import sign_test
from tests.stats.worked import WORKED, generated


def test_worked_example() -> None:
    """Three runs on five topics."""
    result = sign_test(WORKED)
    assert result.wins.tolist() == [4, 3, 3]
    assert result.losses.tolist() == [0, 1, 2]
    assert result.p.tolist() == [0.125, 0.625, 1.0]
    assert result.smallest.tolist() == [0.125, 0.125, 0.0625]


@pytest.mark.parametrize("topics", [3, 50, 2000])
@pytest.mark.parametrize("tie", [0.0, 0.01])
def test_agrees_with_scipy(topics: int, tie: float) -> None:
    """binomtest of wins among topics without a tie, within 1e-12."""
    scores = np.round(generated(8, topics), 2)
    result = sign_test(scores, tie=tie)
    for wins, losses, p, smallest in zip(*result[:2], *result[2:], strict=True):
        assert p == pytest.approx(stats.binomtest(int(wins), int(wins + losses)).pvalue, rel=1e-12)
        assert smallest == pytest.approx(stats.binomtest(0, int(wins + losses)).pvalue, rel=1e-12)


def test_runs_that_tie_everywhere() -> None:
    """p 1: there is no winner."""
    result = sign_test(WORKED[[0, 0]])
    assert (result.p.item(), result.smallest.item()) == (1, 1)
