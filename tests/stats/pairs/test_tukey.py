"""Two-way Tukey HSD: worked numbers, SciPy's studentized range, and two runs' paired t."""

import numpy as np
import pytest
from scipy import stats
from scipy.special import stdtr

from leaderboard.stats.pairs.paired_t import paired_t
from leaderboard.stats.pairs.tukey import studentized_range_sf, tukey_hsd
from tests.stats.worked import WORKED, generated

QUANTILES = np.array([0.0, 0.01, 0.5, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 8.0, 12.0, 30.0, 100.0])


def test_worked_example() -> None:
    """Three runs on five topics."""
    assert tukey_hsd(WORKED).p == pytest.approx([0.286074, 0.114762, 0.795065], abs=5e-7)


@pytest.mark.parametrize(("runs", "df"), [(2, 1), (3, 1), (3, 8), (5, 4), (20, 931), (129, 128), (129, 6272)])
def test_the_studentized_range_agrees_with_scipy(runs: int, df: int) -> None:
    """Within 1e-8."""
    theirs = stats.studentized_range.sf(QUANTILES, runs, df)
    assert studentized_range_sf(QUANTILES, runs, df) == pytest.approx(theirs, abs=1e-8)


@pytest.mark.parametrize("df", [1, 2, 49, 6979])
def test_the_range_of_two_is_a_t(df: int) -> None:
    """q is the root of 2 times t; also where chances are small."""
    chances = studentized_range_sf(QUANTILES, 2, df)
    assert chances == pytest.approx(2 * stdtr(df, -QUANTILES / np.sqrt(2)), abs=1e-9)
    beyond = studentized_range_sf(np.array([12.0]), 2, 49)
    assert beyond == pytest.approx(2 * stdtr(49, -12 / np.sqrt(2)), rel=1e-5)


def test_many_values_are_the_values_one_by_one() -> None:
    """More than are computed at once."""
    q = np.linspace(0, 9, 10_000)
    chances = studentized_range_sf(q, 10, 90)
    assert (np.diff(chances) <= 0).all()
    some = np.arange(0, 10_000, 999)
    assert chances[some] == pytest.approx(studentized_range_sf(q[some], 10, 90), rel=1e-12)


def test_two_runs_are_a_paired_t() -> None:
    """With two runs there is one pair, and the two-way analysis is the paired t test."""
    scores = generated(2, 30)
    assert tukey_hsd(scores).p == pytest.approx(paired_t(scores).p, abs=1e-9)


def test_it_is_not_the_test_of_independent_samples() -> None:
    """Which finds less where topics differ much."""
    scores = generated(6, 50)
    independent = stats.tukey_hsd(*scores).pvalue[np.triu_indices(6, 1)]
    assert np.count_nonzero(tukey_hsd(scores).p < 0.05) > np.count_nonzero(independent < 0.05)


def test_scores_that_leave_nothing_to_estimate() -> None:
    """Constant differences have p 0, equal runs and single topics p 1."""
    assert tukey_hsd(np.array([WORKED[0], WORKED[0] + 0.1, WORKED[0]])).p.tolist() == [0, 1, 0]
    assert tukey_hsd(WORKED[:, :1]).p.tolist() == [1, 1, 1]
    assert tukey_hsd(WORKED[:1]).p.tolist() == []


def test_no_range_of_one_deviate() -> None:
    """Nor over a spread that was not estimated."""
    with pytest.raises(ValueError, match="no range of 1 deviates"):
        studentized_range_sf(QUANTILES, 1, 5)
    with pytest.raises(ValueError, match="0 degrees of freedom"):
        studentized_range_sf(QUANTILES, 2, 0)
