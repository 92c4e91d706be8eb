"""Signs of pairs of runs: few orders and many are taken in different ways, with the same result."""

import numpy as np

from leaderboard.stats.orders.rank_correlation import FEW, pair_signs, pair_signs_alone


def test_many_orders_have_the_signs_of_each() -> None:
    """Ties and rounding among them; the largest score is in every order, as what is rounding hangs on it."""
    drawn = np.random.default_rng(1).integers(0, 4, (3 * FEW, 9)) / 3
    drawn[:, 0], drawn[:, 1] = 1.0, 1.0 - 1e-14
    whole = pair_signs(drawn)
    assert whole.shape == (3 * FEW, 36)
    assert (whole[:, 0] == 0).all()
    assert np.array_equal(whole, np.vstack([pair_signs(order[None]) for order in drawn]))


def test_one_run_has_no_pair() -> None:
    """Nor do many orders of one."""
    assert pair_signs(np.ones((2 * FEW, 1))).shape == (2 * FEW, 0)


def test_orders_with_scales_of_their_own_are_those_taken_alone() -> None:
    """Far apart in size, with ties: each row as if it were the only one."""
    scores = np.random.default_rng(3).integers(0, 4, (7, 12)) * 10.0 ** np.arange(-9, 12, 3)[:, None]
    alone = np.vstack([pair_signs(row[None]) for row in scores])
    assert np.array_equal(pair_signs_alone(scores), alone)
    assert not np.array_equal(pair_signs(scores), alone)
