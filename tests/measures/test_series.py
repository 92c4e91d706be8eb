"""Tables and sums of weights that depend on the rank alone."""

import math

import numpy as np
import pytest

from leaderboard.measures.curves import harmonic, inverse_squares, powers


def test_powers_are_those_of_python() -> None:
    """Every power is the double Python has for it, down to 0 where it underflows."""
    assert powers(0.9, np.array([0, 1, 7, 9000])).tolist() == [1.0, 0.9, 0.9**7, 0.0]


def test_harmonic_numbers() -> None:
    """1, 3/2, 11/6, and 0 terms."""
    assert harmonic(np.array([3, 0, 1, 2])).tolist() == pytest.approx([11 / 6, 0.0, 1.0, 1.5], abs=1e-15)


@pytest.mark.parametrize(
    ("start", "total"),
    [(1.0, math.pi**2 / 6), (2.0, math.pi**2 / 6 - 1), (0.5, math.pi**2 / 2), (1.5, math.pi**2 / 2 - 4)],
)
def test_known_sums_of_inverse_squares(start: float, total: float) -> None:
    """Euler's sum of 1/n² and that over odd numbers, each from its first or second term."""
    assert inverse_squares(np.array([start]))[0] == pytest.approx(total, rel=1e-15)


@pytest.mark.parametrize("start", [0.5, 1.0, 3.7, 40.25, 1e5])
def test_sums_of_inverse_squares_differ_by_their_first_term(start: float) -> None:
    """The sum from x is 1/x² more than the sum from x + 1."""
    here, next_one = inverse_squares(np.array([start, start + 1]))
    assert here - next_one == pytest.approx(1 / start**2, rel=1e-9)
