"""Correlations of two orders of runs: worked and published numbers, definitions, ties, moves."""

from itertools import combinations, permutations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from leaderboard.stats.orders.rank_correlation import (
    largest_moves,
    rho,
    tau_ap,
    tau_ap_a,
    tau_ap_b,
    tau_b,
    weighted_tau,
)

Scores = NDArray[np.float64]
ALL = (tau_b, rho, weighted_tau, tau_ap, tau_ap_a, tau_ap_b)

# The data of the tests of the authors' R package ircor 1.0 (Urbano and Marrero, 2017).
SETS = {
    1: (
        [0.897, 0.372, 0.908, 0.898, 0.661, 0.062, 0.177, 0.384, 0.498, 0.992],
        [0.82, 0.406, 0.817, 0.953, 0.673, 0.073, 0.364, 0.547, 0.589, 0.988],
    ),
    2: (
        [0.266, 0.573, 0.202, 0.945, 0.629, 0.206, 0.687, 0.77, 0.718, 0.38],
        [0.263, 0.843, 0.728, 0.928, 0.08, 0.114, 0.467, 0.641, 0.973, 0.644],
    ),
    3: (
        [0.185, 0.573, 0.944, 0.129, 0.468, 0.553, 0.761, 0.405, 0.976, 0.445],
        [0.845, 0.272, 0.275, 0.924, 0.605, 0.334, 0.162, 0.872, 0.018, 0.25],
    ),
}


@st.composite
def scorings(draw: st.DrawFn, *, ties: bool = True, longest: int = 7) -> tuple[Scores, Scores]:
    """Two scorings of the same runs, neither the same for all."""
    length = draw(st.integers(2, longest))
    columns = []
    for _ in range(2):
        if ties:
            values = draw(st.lists(st.integers(0, 4), min_size=length, max_size=length))
            values[0] += 5 * (len(set(values)) == 1)
        else:
            values = draw(st.permutations(range(length)))
        columns.append(np.array(values, dtype=np.float64))
    return columns[0], columns[1]


def scores(*values: float) -> Scores:
    """An array of scores."""
    return np.array(values)


def test_worked_example_without_ties() -> None:
    """Six runs, the first two and the last two swapped: both directions of tau_AP are the same."""
    estimate, truth = scores(6, 5, 4, 3, 2, 1), scores(5, 6, 4, 3, 1, 2)
    assert tau_b(estimate, truth) == pytest.approx(0.733333, abs=5e-7)
    assert tau_ap(estimate, truth) == pytest.approx(0.52)
    assert tau_ap(truth, estimate) == pytest.approx(0.52)
    assert weighted_tau(estimate, truth) == pytest.approx(0.695238, abs=5e-7)


def test_worked_example_with_ties() -> None:
    """Six runs of which the estimate ties two."""
    orders = scores(0.31, 0.28, 0.28, 0.25, 0.22, 0.15), scores(0.50, 0.47, 0.52, 0.41, 0.44, 0.30)
    assert tau_b(*orders) == pytest.approx(0.690066, abs=5e-7)
    assert tau_ap(*orders) is None
    assert tau_ap_a(*orders) == pytest.approx(0.5)
    assert tau_ap_b(*orders) == pytest.approx(0.4)
    assert rho(*orders) == pytest.approx(0.840668, abs=5e-7)
    assert weighted_tau(*orders) == pytest.approx(0.621183, abs=5e-7)


@pytest.mark.parametrize(
    ("number", "plain", "tied_a", "symmetric", "tied_b"),
    [
        (1, 0.8519, 0.7454, 0.8333, 0.7321),
        (2, 0.2504, 0.2692, 0.2880, 0.2970),
        (3, -0.6971, -0.5558, -0.6680, -0.7047),
    ],
)
def test_published_ap_correlations(
    number: int, plain: float, tied_a: float, symmetric: float, tied_b: float
) -> None:
    """The authors' twelve numbers: no ties, ties in the estimate, both directions, ties in both."""
    truth, estimate = (np.array(values) for values in SETS[number])
    assert tau_ap(estimate, truth) == pytest.approx(plain, abs=5e-5)
    assert tau_ap_a(estimate.round(1), truth) == pytest.approx(tied_a, abs=5e-5)
    assert tau_ap_b(estimate, truth) == pytest.approx(symmetric, abs=5e-5)
    for one, two in [(truth, estimate), (estimate, truth)]:
        assert tau_ap_b(one.round(1), two.round(1)) == pytest.approx(tied_b, abs=5e-5)


@pytest.mark.parametrize(
    ("number", "plain", "tied"), [(1, 0.9111, 0.9398), (2, 0.2889, 0.3765), (3, -0.6889, -0.6510)]
)
def test_published_kendall_correlations(number: int, plain: float, tied: float) -> None:
    """The same package's tau and tau_b."""
    one, two = (np.array(values) for values in SETS[number])
    assert tau_b(one, two) == pytest.approx(plain, abs=5e-5)
    assert tau_b(one.round(1), two.round(1)) == pytest.approx(tied, abs=5e-5)


@given(scorings())
def test_tau_b_counts_pairs(pair: tuple[Scores, Scores]) -> None:
    """Pairs in the same less pairs in the opposite order, over the geometric mean of those not tied."""
    one, two = pair
    signs = [
        (np.sign(one[i] - one[j]), np.sign(two[i] - two[j])) for i, j in combinations(range(len(one)), 2)
    ]
    untied = [sum(abs(sign[side]) for sign in signs) for side in (0, 1)]
    assert tau_b(one, two) == pytest.approx(sum(a * b for a, b in signs) / (untied[0] * untied[1]) ** 0.5)


@given(scorings(ties=False))
def test_weighted_tau_weighs_pairs_by_rank(pair: tuple[Scores, Scores]) -> None:
    """Each pair weighs 1/r + 1/s by the ranks of one order, then of the other."""
    shares = []
    for order in pair:
        weight = 1 / (len(order) - order)
        pairs = [
            (weight[i] + weight[j], np.sign((pair[0][i] - pair[0][j]) * (pair[1][i] - pair[1][j])))
            for i, j in combinations(range(len(order)), 2)
        ]
        shares.append(sum(size * sign for size, sign in pairs) / sum(size for size, _ in pairs))
    assert weighted_tau(*pair) == pytest.approx(sum(shares) / 2)


@given(scorings(ties=False))
def test_rho_squares_the_differences_of_ranks(pair: tuple[Scores, Scores]) -> None:
    """Without ties 1 - 6 times the squared rank differences over n (n² - 1)."""
    n = len(pair[0])
    assert rho(*pair) == pytest.approx(1 - 6 * ((pair[0] - pair[1]) ** 2).sum() / (n * (n * n - 1)))


@given(scorings(ties=False))
def test_tau_ap_walks_down_the_estimate(pair: tuple[Scores, Scores]) -> None:
    """At each rank below the first, the share of runs above that the truth has above as well."""
    estimate, truth = pair
    order = np.argsort(-estimate)
    shares = [
        sum(truth[above] > truth[run] for above in order[:rank]) / rank
        for rank, run in enumerate(order)
        if rank
    ]
    assert tau_ap(estimate, truth) == pytest.approx(2 * np.mean(shares) - 1)


def test_tau_ap_has_a_direction() -> None:
    """A run moved from the fourth rank to the first misplaces three below it, one moved back only one."""
    estimate, truth = scores(3, 2, 1, 4), scores(4, 3, 2, 1)
    assert tau_ap(estimate, truth) == pytest.approx(2 / 3 * (0 + 1 / 2 + 2 / 3) - 1)
    assert tau_ap(truth, estimate) == pytest.approx(2 / 3 * (1 + 1 + 0) - 1)


@given(scorings(longest=5), st.permutations(range(5)))
def test_ties_in_the_estimate_are_averaged_over(pair: tuple[Scores, Scores], order: list[int]) -> None:
    """tau_AP,a is the mean of tau_AP over all orders of the tied runs."""
    estimate, truth = pair[0], np.array(order[: len(pair[0])], dtype=np.float64)
    untied = [
        tau_ap(np.array(breaking, dtype=np.float64), truth)
        for breaking in permutations(range(len(estimate)))
        if all(
            breaking[i] > breaking[j]
            for i, j in permutations(range(len(estimate)), 2)
            if estimate[i] > estimate[j]
        )
    ]
    assert tau_ap_a(estimate, truth) == pytest.approx(np.mean([tau for tau in untied if tau is not None]))


@given(scorings(ties=False))
def test_without_ties_the_forms_meet(pair: tuple[Scores, Scores]) -> None:
    """tau_AP,a is tau_AP, and tau_AP,b the mean of its two directions."""
    one_way, back = tau_ap(*pair), tau_ap(pair[1], pair[0])
    assert one_way is not None
    assert back is not None
    assert tau_ap_a(*pair) == one_way
    assert tau_ap_b(*pair) == pytest.approx((one_way + back) / 2)


@given(scorings())
def test_the_same_order_is_one_and_reversed_is_minus_one(pair: tuple[Scores, Scores]) -> None:
    """Whatever the scores, as long as not all are tied."""
    for correlation in (tau_b, rho, weighted_tau, tau_ap_b):
        assert correlation(pair[0], pair[0] * 2 + 1) == pytest.approx(1)
        assert correlation(pair[0], -pair[0]) == pytest.approx(-1)


@pytest.mark.parametrize("other", [scores(1, 2, 3), scores(2, 2, 2)])
def test_a_constant_scoring_has_no_order(other: Scores) -> None:
    """No correlation, neither a number that is none nor a warning; only tied estimates have a mean."""
    flat = scores(0.5, 0.5, 0.5)
    assert [correlation(other, flat) for correlation in ALL] == [None] * len(ALL)
    assert [correlation(flat, other) for correlation in ALL if correlation is not tau_ap_a] == [None] * 5
    assert tau_ap_a(flat, other) == (0.0 if other[0] != other[1] else None)


@pytest.mark.parametrize("one", [scores(), scores(0.5)])
def test_fewer_than_two_runs_have_no_order(one: Scores) -> None:
    """There is no pair to compare."""
    assert [correlation(one, one) for correlation in ALL] == [None] * len(ALL)


def test_largest_moves_come_first() -> None:
    """Tied runs share the smallest rank; up is positive; of equal moves the better run's is first."""
    moves = largest_moves(scores(0.5, 0.4, 0.4, 0.1, 0.3), scores(0.1, 0.4, 0.5, 0.4, 0.2))
    assert moves.first_rank.tolist() == [1, 2, 2, 5, 4]
    assert moves.second_rank.tolist() == [5, 2, 1, 2, 4]
    assert moves.move.tolist() == [-4, 0, 1, 3, 0]
    assert moves.order.tolist() == [0, 3, 2, 1, 4]
