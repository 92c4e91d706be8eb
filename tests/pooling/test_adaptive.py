"""What the methods that learn are made of."""

from math import log

import numpy as np

from leaderboard.pooling.adaptive import HIT, MISS, Hedge
from leaderboard.pooling.candidates import candidates
from leaderboard.pooling.draws import beta, stream
from tests.pooling.worked import RUNS, indices


def test_hedge_losses() -> None:
    """Nine candidates: d1, relevant, is a win of ln(9/rank)/2; d8, not relevant, costs C ln(9)/2."""
    hedge = Hedge(candidates(RUNS), 0.8)
    states = np.zeros(9, dtype=np.int8)
    states[0] = HIT
    assert np.allclose(hedge.losses(states), [-log(9) / 2, -log(9 / 2) / 2, -log(9 / 3) / 2])
    states[7] = MISS
    left = sum(log(9 / rank) / 2 for rank in (6, 7, 8, 9)) / 4
    expected = [left - log(9) / 2, left - log(9 / 2) / 2, log(9) / 2 - log(3) / 2]
    assert np.allclose(hedge.losses(states), expected)
    assert np.allclose(hedge.weights(states), 0.8 ** (np.array(expected) - expected[0]))


def test_weights_stay_finite() -> None:
    """0.01 to the power of minus a thousand, what two thousand relevant documents win, would overflow."""
    ranking = np.arange(2000)
    hedge = Hedge(candidates([ranking, ranking[::-1]]), 0.01)
    states = np.full(2000, HIT, dtype=np.int8)
    states[-1] = 0
    assert np.isfinite(hedge.weights(states)).all()
    assert hedge.next(states) == 1999


def test_runs_that_rank_everything_have_nothing_left() -> None:
    """No mean over no ranks: the only run orders its own documents."""
    hedge = Hedge(candidates([indices("d2 d1 d3")]), 0.8)
    assert hedge.next(np.zeros(3, dtype=np.int8)) == 1


def test_draws_have_the_mean_of_their_beta() -> None:
    """Beta(1 + 3, 1 + 1) has a mean of 2/3 and a variance of 2/63; a thousand draws of each kind."""
    drawn = np.array([beta(stream(1, n), np.array([3, 0]), np.array([4, 0])) for n in range(1000)]) / 2**40
    assert abs(drawn[:, 0].mean() - 2 / 3) < 4 * (2 / 63 / 1000) ** 0.5
    assert abs(drawn[:, 1].mean() - 1 / 2) < 4 * (1 / 12 / 1000) ** 0.5
    assert abs(drawn[:, 0].var() - 2 / 63) < 0.006
