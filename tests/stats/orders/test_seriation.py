"""Orders in which neighbours are alike."""

import numpy as np
import pytest

from leaderboard.stats.orders.rbo_all_pairs import alike


def test_a_shuffled_sequence_is_found_again() -> None:
    """Rows that step from 0 to 1 ever later come out in that order or its reverse."""
    rows = (np.arange(40) >= np.arange(2, 40, 4)[:, None]).astype(np.float64)
    shuffled = np.random.default_rng(7).permutation(len(rows))
    order = shuffled[alike(rows[shuffled])].tolist()
    assert order in (list(range(10)), list(range(9, -1, -1)))


@pytest.mark.parametrize("n", [0, 1, 2])
def test_few_rows_stay_as_they_are(n: int) -> None:
    """Two rows are neighbours in any order."""
    assert alike(np.ones((n, 3))).tolist() == list(range(n))


def test_rows_that_do_not_vary_have_an_order_too() -> None:
    """Each row appears once, whatever can be said of it."""
    rows = np.array([[1.0, 1, 1], [0, 0, 0], [0, 1, 2], [2, 1, 0]])
    assert sorted(alike(rows).tolist()) == [0, 1, 2, 3]
    assert alike(rows).tolist() == alike(rows + 5).tolist()
