"""What a board says of each run: worked tables, one-sided tests by SciPy, and what always holds."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays
from numpy.typing import NDArray
from scipy.stats import rankdata, ttest_rel

from leaderboard.stats.pairs.methods import PairTable, all_pairs, method
from leaderboard.stats.standing.standing import (
    best_set,
    decided,
    decided_neighbours,
    decided_pairs,
    standing,
    tied_with,
)

WORKED = np.array([[5, 4, 7, 2, 6], [4, 4, 5, 1, 5], [3, 5, 4, 2, 3]]) / 10
SCORES = arrays.arrays(
    np.float64,
    st.tuples(st.integers(2, 7), st.integers(2, 9)),
    elements=st.integers(0, 20).map(lambda n: n / 20),
)


def table(difference: list[float], adjusted: list[float]) -> PairTable:
    """A table of four runs with given differences and adjusted p."""
    values = np.array(difference)
    return PairTable(
        method=method("t+holm"),
        runs=4,
        difference=values,
        low=values - 1,
        high=values + 1,
        p=np.array(adjusted),
        adjusted=np.array(adjusted),
        resamples=None,
        reachable=True,
    )


# Run 1 leads and beats 3, which beats 2; 0 lies between. Pairs 01 02 03 12 13 23.
CHAIN = table([-0.1, 0.2, 0.1, 0.3, 0.2, -0.1], [0.3, 0.2, 0.9, 0.001, 0.049, 0.01])


def test_a_worked_table() -> None:
    """Four runs of which three pairs can be told apart."""
    standings = standing(CHAIN)
    assert standings.beats.tolist() == [0, 2, 0, 1]
    assert standings.beaten_by.tolist() == [0, 0, 2, 1]
    assert standings.undecided.tolist() == [3, 1, 1, 1]
    assert standings.rank_low.tolist() == [1, 1, 3, 2]
    assert standings.rank_high.tolist() == [4, 2, 4, 3]
    assert decided_pairs(CHAIN) == 3
    assert decided(CHAIN).tolist() == [[0, 0, 0, 0], [0, 0, 1, 1], [0, -1, 0, -1], [0, -1, 1, 0]]


def test_the_level_is_met_only_below_it() -> None:
    """Adjusted p of 0.049 and 0.01: neither passes 1 %, and 0.01 is not below 0.01."""
    assert decided_pairs(CHAIN, 0.01) == 1
    assert standing(CHAIN, 0.01).beats.tolist() == [0, 1, 0, 0]


def test_undecided_is_not_transitive() -> None:
    """Run 0 is undecided with 1 and with 3, of which 1 beats 3."""
    assert tied_with(CHAIN, 0).tolist() == [False, True, True, True]
    assert tied_with(CHAIN, 1).tolist() == [True, False, False, False]
    assert tied_with(CHAIN, 3).tolist() == [True, False, False, False]


def test_neighbours_in_the_boards_order() -> None:
    """By mean 1, 0, 3, 2: only the last two neighbours can be told apart."""
    assert decided_neighbours(CHAIN, [1, 0, 3, 2]).tolist() == [False, False, True]
    assert decided_neighbours(CHAIN, [1, 3, 2, 0]).tolist() == [True, True, False]


def test_equal_means_are_undecided_whatever_the_test_says() -> None:
    """A signed-rank test may reject where the means are equal: then neither run is better."""
    equal = table([0.0] * 6, [0.001] * 6)
    assert decided_pairs(equal) == 0
    assert standing(equal).undecided.tolist() == [3, 3, 3, 3]


def test_worked_example() -> None:
    """Three runs on five topics: p 0.034 alone, 0.102 after Holm, so that every rank stays possible."""
    corrected = standing(all_pairs(WORKED, method("t+holm"), seed=1))
    assert (corrected.rank_low.tolist(), corrected.rank_high.tolist()) == ([1, 1, 1], [3, 3, 3])
    plain = standing(all_pairs(WORKED, method("t+none"), seed=1))
    assert (plain.rank_low.tolist(), plain.rank_high.tolist()) == ([1, 2, 1], [2, 3, 3])
    # One-sided p of the second run against the first is 0.017, below 0.05/2; of the third 0.080.
    assert best_set(WORKED).tolist() == [True, False, True]


@given(SCORES, st.sampled_from(["t+holm", "t+bh", "t+none"]), st.sampled_from([0.01, 0.05, 0.3]))
def test_a_rank_range_holds_the_rank_on_the_board(
    scores: NDArray[np.float64], key: str, alpha: float
) -> None:
    """The counts add up, and the order by means never contradicts them."""
    pairs = all_pairs(scores, method(key), seed=1)
    standings = standing(pairs, alpha)
    assert (standings.beats + standings.beaten_by + standings.undecided == len(scores) - 1).all()
    assert standings.beats.sum() == standings.beaten_by.sum() == decided_pairs(pairs, alpha)
    means = scores.sum(axis=1).round(9)
    assert (standings.rank_low <= rankdata(-means, method="min")).all()
    assert (rankdata(-means, method="max") <= standings.rank_high).all()
    for run in range(len(scores)):
        assert np.count_nonzero(tied_with(pairs, run, alpha)) == standings.undecided[run]


@given(SCORES, st.sampled_from([0.01, 0.05, 0.3]))
def test_the_best_set_is_never_empty_and_holds_the_leader(scores: NDArray[np.float64], alpha: float) -> None:
    """Whatever the scores; a larger alpha only takes runs away."""
    best = best_set(scores, alpha)
    assert best[scores.sum(axis=1).argmax()]
    assert (best_set(scores, alpha / 2) >= best).all()


def test_the_best_set_is_that_of_scipys_one_sided_tests() -> None:
    """Nine runs that differ little by little."""
    scores = np.random.default_rng(2).random((9, 30)) + np.linspace(0.4, 0, 9)[:, None]
    beaten = [
        any(
            ttest_rel(scores[other], scores[run], alternative="greater").pvalue < 0.05 / 8
            for other in range(9)
            if other != run
        )
        for run in range(9)
    ]
    assert best_set(scores).tolist() == [not is_beaten for is_beaten in beaten]
    assert 0 < sum(beaten) < 8


def test_the_best_set_of_special_boards() -> None:
    """One run; one topic, of which nothing is known; identical runs; a difference that never varies."""
    assert best_set(np.array([[0.3, 0.4]])).tolist() == [True]
    assert best_set(np.array([[0.9], [0.1]])).tolist() == [True, True]
    assert best_set(np.tile([0.1, 0.5, 0.3], (3, 1))).tolist() == [True] * 3
    assert best_set(np.array([[0.25, 0.5, 1.0], [0.125, 0.375, 0.875]])).tolist() == [True, False]
