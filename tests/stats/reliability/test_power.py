"""Power of the paired t test: worked numbers, statsmodels, and an integral done the other way."""

from collections.abc import Callable
from itertools import pairwise

import numpy as np
import pytest
from scipy import integrate, stats
from scipy.special import ndtr

from leaderboard.stats.reliability import half_width, power, sensitivity, smallest_difference, topics_needed


def test_worked_numbers() -> None:
    """Differences with standard deviation .2, as worked out beforehand."""
    assert topics_needed(0.05, 0.2) == 128
    assert power(0.05, 0.2, 50) == pytest.approx(0.410381, abs=5e-7)
    assert smallest_difference(0.2, 50) == pytest.approx(0.080837, abs=5e-7)
    assert half_width(0.2, 50) == pytest.approx(0.056839, abs=5e-7)


def test_trec8_sized_spread() -> None:
    """The median spread of differences in average precision of TREC-8's ad hoc runs, 0.159."""
    assert round(smallest_difference(0.159, 50), 3) == 0.064
    assert topics_needed(0.05, 0.159) == 82


@pytest.mark.parametrize("topics", [2, 3, 5, 10, 50, 1000])
@pytest.mark.parametrize("alpha", [0.05, 0.05 / 8256, 1e-8])
@pytest.mark.parametrize("share", [0.2, 0.9, 1.1, 2.0])
def test_equals_the_integral_over_the_standard_deviation(topics: int, alpha: float, share: float) -> None:
    """The normal distribution integrated over the chi distribution gives the same, also for tiny levels."""
    freedom, critical = topics - 1, float(stats.t.isf(alpha / 2, topics - 1))
    shift = share * critical
    spread = stats.chi(freedom, scale=freedom**-0.5)

    def beyond(s: float) -> float:
        return float(spread.pdf(s) * (ndtr(shift - critical * s) + ndtr(-shift - critical * s)))

    edges = np.clip([share - 12 / critical, share, share + 12 / critical, 1.0], 1e-12, None)
    low, high = spread.isf(1 - 1e-14), spread.isf(1e-14)
    points = sorted({float(edge) for edge in edges if low < edge < high})
    pieces = [low, *points, high]
    expected = sum(integrate.quad(beyond, *piece, epsabs=1e-11, limit=200)[0] for piece in pairwise(pieces))
    assert power(shift, topics**0.5, topics, alpha=alpha) == pytest.approx(expected, abs=2e-9)


def test_agrees_with_statsmodels() -> None:
    """Power and sample sizes of statsmodels' paired t test."""
    oracle = pytest.importorskip("statsmodels.stats.power").TTestPower()
    for effect in (0.1, 0.25, 0.8):
        for topics in (5, 50, 200):
            expected = oracle.power(effect, topics, 0.05)
            assert power(effect, 1.0, topics) == pytest.approx(expected, abs=1e-9)
        needed = oracle.solve_power(effect, power=0.8, alpha=0.05)
        assert topics_needed(effect, 1.0) == np.ceil(needed)


@pytest.mark.parametrize("topics", [2, 3, 20, 6980])
@pytest.mark.parametrize("alpha", [0.05, 0.05 / 8256])
def test_the_smallest_difference_has_the_wanted_power(topics: int, alpha: float) -> None:
    """Putting it back gives 80 % power."""
    difference = smallest_difference(0.3, topics, alpha=alpha)
    assert power(difference, 0.3, topics, alpha=alpha) == pytest.approx(0.8, abs=1e-9)


@pytest.mark.parametrize(("difference", "sd"), [(0.05, 0.2), (0.3, 0.1), (0.004, 0.3), (-0.05, 0.2)])
def test_topics_needed_are_the_fewest(difference: float, sd: float) -> None:
    """One topic less has less than the wanted power."""
    topics = topics_needed(difference, sd)
    assert power(difference, sd, topics) >= 0.8
    assert topics == 2 or power(difference, sd, topics - 1) < 0.8


def test_a_difference_without_spread_is_always_found() -> None:
    """Then p is 0, and the smallest difference found is none."""
    assert power(0.1, 0.0, 5) == 1.0
    assert power(0.0, 0.0, 5) == 0.0
    assert smallest_difference(0.0, 5) == 0.0
    assert topics_needed(0.1, 0.0) == 2


def test_no_difference_is_found_at_the_level_of_the_test() -> None:
    """The power against nothing is alpha."""
    assert power(0.0, 0.2, 30, alpha=0.01) == pytest.approx(0.01, abs=1e-12)


def test_sensitivity_of_a_board() -> None:
    """Three runs on five topics: the median spread, and a level divided by three pairs."""
    scores = np.array([[5, 4, 7, 2, 6], [4, 4, 5, 1, 5], [3, 5, 4, 2, 3]]) / 10
    spreads = [np.std(scores[i] - scores[j], ddof=1) for i, j in ((0, 1), (0, 2), (1, 2))]
    board = sensitivity(scores)
    assert (board.topics, board.pairs, board.alpha, board.power) == (5, 3, 0.05, 0.8)
    assert board.sd == pytest.approx(np.median(spreads), abs=1e-15)
    assert board.planned == smallest_difference(board.sd, 5)
    assert board.any == smallest_difference(board.sd, 5, alpha=0.025 / 3)
    assert board.planned_topics == topics_needed(board.planned / 2, board.sd)
    assert board.any_topics == topics_needed(board.any / 2, board.sd, alpha=0.025 / 3)
    assert board.half_width == half_width(board.sd, 5)


def test_sensitivity_where_runs_are_alike() -> None:
    """Identical runs have no spread; still the same factor of topics would halve what is seen."""
    board = sensitivity(np.full((3, 50), 0.25))
    assert (board.sd, board.planned, board.any) == (0.0, 0.0, 0.0)
    assert board.planned_topics == topics_needed(smallest_difference(1.0, 50) / 2, 1.0)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: power(0.1, -0.2, 10), "0 or more"),
        (lambda: power(0.1, 0.2, 1), "at least two topics"),
        (lambda: smallest_difference(0.2, 10, power=0.01), "between alpha and 1"),
        (lambda: topics_needed(0.0, 0.2), "difference of 0"),
        (lambda: topics_needed(1e-9, 0.2), "ten million"),
        (lambda: sensitivity(np.ones((1, 5))), "two runs"),
        (lambda: sensitivity(np.ones((5, 1))), "two topics"),
    ],
)
def test_refuses_in_a_sentence(call: Callable[[], object], message: str) -> None:
    """What cannot be answered says why."""
    with pytest.raises(ValueError, match=message):
        call()
