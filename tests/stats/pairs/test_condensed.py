"""All pairs of runs: their order, their squares and their differences."""

import numpy as np
import pytest

from leaderboard.stats.pairs import condensed as module
from leaderboard.stats.pairs.condensed import differences, pairs, square
from tests.stats.worked import generated


def test_pairs_come_in_the_order_of_the_upper_triangle() -> None:
    """The first run varies slowest."""
    first, second = pairs(4)
    assert list(zip(first.tolist(), second.tolist(), strict=True)) == [
        (0, 1),
        (0, 2),
        (0, 3),
        (1, 2),
        (1, 3),
        (2, 3),
    ]


def test_one_run_has_no_pair() -> None:
    """And a square of one value."""
    assert [len(side) for side in pairs(1)] == [0, 0]
    assert square(np.array([]), 1, mirrored=1, diagonal=1.0).tolist() == [[1.0]]


def test_square_mirrors_a_p_and_turns_a_difference() -> None:
    """A p is the same from both sides, a difference is not."""
    condensed = np.array([1.0, 2.0, 3.0])
    p, difference = square(condensed, 3, mirrored=1, diagonal=9.0), square(condensed, 3, mirrored=-1)
    assert (p == p.T).all()
    assert np.diag(p).tolist() == [9.0, 9.0, 9.0]
    assert (difference == -difference.T).all()
    assert (difference[pairs(3)] == condensed).all()


def test_square_keeps_yes_and_no() -> None:
    """Booleans stay booleans."""
    assert square(np.array([True]), 2, mirrored=1).tolist() == [[False, True], [True, False]]


def test_square_refuses_values_of_other_runs() -> None:
    """Three runs have three pairs."""
    with pytest.raises(ValueError, match="3 runs have 3 pairs"):
        square(np.zeros(4), 3, mirrored=1)


@pytest.mark.parametrize("size", [1, 20, 1000])
def test_differences_in_blocks_are_all_differences(monkeypatch: pytest.MonkeyPatch, size: int) -> None:
    """However few are held at once."""
    monkeypatch.setattr(module, "BLOCK", size)
    scores = generated(7, 9)
    first, second = pairs(7)
    gathered = np.empty((21, 9))
    for block, difference in differences(scores):
        assert difference.size <= max(size, 9)
        gathered[block] = difference
    assert (gathered == scores[first] - scores[second]).all()
