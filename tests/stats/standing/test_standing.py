"""What a board says of each run: worked tables, one-sided tests by SciPy, and what always holds."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays
from numpy.typing import NDArray
from scipy.stats import nct, rankdata, t, ttest_rel

from leaderboard.scoring.ops.statistics.standings import decided_neighbours
from leaderboard.stats.pairs.baseline import against_baseline
from leaderboard.stats.pairs.condensed import square
from leaderboard.stats.pairs.methods import METHODS, Method, PairTable, all_pairs, method
from leaderboard.stats.reliability import topics_needed
from leaderboard.stats.standing import (
    decided,
    topics_against,
    topics_at,
    topics_of_undecided,
    topics_to_decide,
    verdicts,
    widest_pair,
)

HOLM = method("t+holm")
ONE_IS_OUT_UNNAMED = (
    np.array(
        [[7, 9, 8, 6, 7, 6], [7, 6, 7, 4, 8, 6], [5, 4, 4, 5, 5, 4], [3, 4, 2, 1, 3, 2], [0, 0, 0, 0, 0, 1]]
    )
    / 10
)
"""The third run cannot be the best, and no single run is found to beat it."""
ONE_BEST = (
    np.array(
        [[8, 9, 8, 6, 9, 9], [5, 7, 6, 6, 6, 7], [5, 5, 5, 6, 6, 5], [4, 5, 5, 5, 7, 6], [1, 2, 4, 4, 5, 5]]
    )
    / 10
)
"""All others are out, though Holm's correction finds the first to beat two of them only."""
THREE = np.array([[9, 8, 9, 7, 8], [5, 6, 4, 4, 3], [5, 4, 6, 2, 5]]) / 10
CERTAIN = [one for one in METHODS if not one.random]
SCORES = arrays.arrays(
    np.float64,
    st.tuples(st.integers(1, 7), st.integers(1, 9)),
    elements=st.integers(0, 20).map(lambda n: n / 20),
)


def table(difference: list[float], adjusted: list[float]) -> PairTable:
    """A table of four runs with given differences and adjusted p."""
    values = np.array(difference)
    return PairTable(
        method=HOLM,
        runs=4,
        difference=values,
        low=values - 1,
        high=values + 1,
        p=np.array(adjusted),
        single=np.ones(6),
        adjusted=np.array(adjusted),
        resamples=None,
        reachable=True,
    )


# Run 1 leads and beats 3, which beats 2; 0 lies between. Pairs 01 02 03 12 13 23.
CHAIN = table([-0.1, 0.2, 0.1, 0.3, 0.2, -0.1], [0.3, 0.2, 0.9, 0.001, 0.024, 0.01])


def test_a_run_that_is_out_may_be_beaten_by_none_that_is_named() -> None:
    """The third is beaten by one at least, by whichever of the two with a dot."""
    pairs = all_pairs(ONE_IS_OUT_UNNAMED, HOLM, seed=1)
    p = [0.2241632763, 0.0074386562, 0.0000334358, 0.0000674320, 0.0283967251]
    p += [0.0004837789, 0.0001509915, 0.0117248110, 0.0000480220, 0.0052454346]
    assert pairs.p == pytest.approx(p, abs=5e-10)
    adjusted = square(pairs.adjusted, 5, mirrored=1)
    expected = [0.0297546247, 0.0003343578, 0.0351744330, 0.0262271732]
    assert adjusted[[0, 0, 2, 3], [2, 3, 3, 4]] == pytest.approx(expected, abs=5e-11)
    board = verdicts(pairs)
    assert board.may_be_best.tolist() == [True, True, False, False, False]
    assert board.named.tolist() == [0, 0, 0, 2, 3]
    assert board.rank_low.tolist() == [1, 1, 2, 3, 4]
    assert board.rank_high.tolist() == [3, 3, 4, 5, 5]


def test_a_run_that_alone_may_be_the_best_beats_all_others() -> None:
    """Holm names two pairs, the rule four: whoever is left alone is the best."""
    pairs = all_pairs(ONE_BEST, HOLM, seed=1)
    assert np.flatnonzero(pairs.adjusted < 0.025).tolist() == [2, 3]
    assert pairs.adjusted[[0, 1, 2, 3]] == pytest.approx(
        [0.0421303111, 0.0421303111, 0.0193583640, 0.0193583640], abs=5e-11
    )
    board = verdicts(pairs)
    assert board.may_be_best.tolist() == [True, False, False, False, False]
    assert board.beats.tolist() == [4, 0, 0, 0, 0]
    assert board.named.tolist() == [0, 1, 1, 1, 1]
    assert board.rank_low.tolist() == [1, 2, 2, 2, 2]
    assert board.rank_high.tolist() == [1, 5, 5, 5, 5]


def test_three_runs() -> None:
    """The first beats both others, whose means are equal."""
    pairs = all_pairs(THREE, HOLM, seed=1)
    assert pairs.p == pytest.approx([0.0028622149, 0.0005293110, 1.0], abs=5e-11)
    board = verdicts(pairs)
    assert board.may_be_best.tolist() == [True, False, False]
    assert (board.rank_low.tolist(), board.rank_high.tolist()) == ([1, 2, 2], [1, 3, 3])


def test_a_worked_table() -> None:
    """Four runs of which three pairs can be told apart."""
    board = verdicts(CHAIN)
    assert board.signs.tolist() == [[0, 0, 0, 0], [0, 0, 1, 1], [0, -1, 0, -1], [0, -1, 1, 0]]
    assert board.beats.tolist() == [0, 2, 0, 1]
    assert board.named.tolist() == [0, 0, 2, 1]
    assert board.undecided.tolist() == [3, 1, 1, 1], "undecided is not transitive"
    assert board.rank_low.tolist() == [1, 1, 3, 2]
    assert board.rank_high.tolist() == [4, 2, 4, 3]


def test_the_level_is_met_only_below_it() -> None:
    """Adjusted p of 0.024 and 0.01: neither passes 1 %, and 0.01 is not below 0.01."""
    assert verdicts(CHAIN, 0.01).beats.tolist() == [0, 1, 0, 0]


def test_neighbours_in_the_boards_order() -> None:
    """By mean 1, 0, 3, 2: only the last two neighbours can be told apart."""
    assert decided_neighbours(decided(CHAIN), [1, 0, 3, 2]).tolist() == [False, False, True]
    assert decided_neighbours(decided(CHAIN), [1, 3, 2, 0]).tolist() == [True, True, False]


def test_equal_means_are_undecided_whatever_the_test_says() -> None:
    """A signed-rank test may reject where the means are equal: then neither run is better."""
    equal = table([0.0] * 6, [0.001] * 6)
    assert not decided(equal).any()
    assert verdicts(equal).undecided.tolist() == [3, 3, 3, 3]


def test_a_correction_that_keeps_no_error_decides_pairs_alone() -> None:
    """Uncorrected, p of 0.0074 tells two runs apart; what the board says of all stays Holm's."""
    plain = all_pairs(ONE_IS_OUT_UNNAMED, method("t+none"), seed=1)
    corrected = all_pairs(ONE_IS_OUT_UNNAMED, HOLM, seed=1)
    assert np.count_nonzero(decided(plain)) > np.count_nonzero(decided(corrected))
    assert (verdicts(plain).signs == verdicts(corrected).signs).all()
    assert (decided(corrected) == verdicts(corrected).signs).all()


@given(
    SCORES,
    st.sampled_from([each for each in METHODS if not each.random]),
    st.sampled_from([0.005, 0.025, 0.15]),
)
def test_dot_count_and_range_say_the_same(scores: NDArray[np.float64], by: Method, level: float) -> None:
    """Whatever the scores: a dot, beaten by 0 and a range from 1 are one; nothing contradicts the means."""
    runs = len(scores)
    board = verdicts(all_pairs(scores, by, seed=1), level)
    if board.too_few:
        assert not board.may_be_best.any()
        assert (board.rank_low == 1 + board.named).all()
    else:
        assert (board.may_be_best == (board.rank_low == 1)).all()
        assert board.may_be_best.any()
    assert not (board.may_be_best & (board.named > 0)).any()
    assert (board.signs == -board.signs.T).all()
    assert (board.beats + board.named + board.undecided == runs - 1).all()
    if np.count_nonzero(board.may_be_best) == 1:
        assert board.beats[board.may_be_best].tolist() == [runs - 1]
    means = scores.sum(axis=1).round(9)
    assert (board.rank_low <= rankdata(-means, method="min")).all()
    assert (rankdata(-means, method="max") <= board.rank_high).all()


def test_who_is_out_is_out_by_scipys_one_sided_tests() -> None:
    """Nine runs that differ little by little."""
    scores = np.random.default_rng(2).random((9, 30)) + np.linspace(0.4, 0, 9)[:, None]
    board = verdicts(all_pairs(scores, HOLM, seed=1))
    out = [
        any(
            ttest_rel(scores[other], scores[run], alternative="greater").pvalue < 0.025 / 8
            for other in range(9)
            if other != run
        )
        for run in range(9)
    ]
    assert board.may_be_best.tolist() == [
        not (is_out or named) for is_out, named in zip(out, board.named, strict=True)
    ]
    assert 0 < sum(out) < 8


def test_special_boards() -> None:
    """One run; one topic, of which nothing is known; identical runs; a difference that never varies."""

    def dots(scores: NDArray[np.float64]) -> list[bool]:
        return verdicts(all_pairs(scores, HOLM, seed=1)).may_be_best.tolist()

    assert dots(np.array([[0.3, 0.4]])) == [False]
    assert dots(np.array([[0.9], [0.1]])) == [False, False]
    assert dots(np.tile([0.1, 0.5, 0.3], (3, 1))) == [False] * 3
    assert dots(np.zeros((3, 20))) == [False] * 3
    assert dots(np.array([[0.25, 0.5, 1.0], [0.125, 0.375, 0.875]])) == [True, False]


def test_topics_that_are_too_few_praise_nobody() -> None:
    """Eleven runs on twelve topics: the first and last are not told apart, so none may be the best."""
    random = np.random.default_rng(3)
    scores = random.random((11, 12)) * 0.6 + np.linspace(0.1, 0, 11)[:, None]
    compared = all_pairs(scores, HOLM, seed=1)
    board = verdicts(compared)
    assert board.too_few
    assert not board.may_be_best.any()
    assert (board.rank_low.tolist(), board.rank_high.tolist()) == ([1] * 11, [11] * 11)
    order = scores.mean(axis=1)
    difference = scores[order.argmax()] - scores[order.argmin()]
    needed = topics_to_decide(compared, board, 12, widest_pair(compared))
    assert needed == 49
    effect, level = difference.mean() / difference.std(ddof=1), 0.025 / 55
    powers = [
        nct.sf(t.isf(level / 2, topics - 1), topics - 1, effect * np.sqrt(topics)) for topics in (48, 49)
    ]
    assert powers[0] < 0.8 <= powers[1]


def test_topics_that_would_decide_a_pair() -> None:
    """At the level that is left; None for equal means, or over a hundred times the topics."""
    first = [0.9, 0.8, 0.7, 0.9]
    scores = np.array([first, [0.1, 0.2, 0.1, 0.0], [0.1, 0.2, 0.0, 0.15], [0.2, 0.1, 0.1, 0.0]])
    compared = all_pairs(scores, HOLM, seed=1)
    board = verdicts(compared)
    assert np.count_nonzero(board.signs > 0) == 3
    assert compared.difference[3:].round(4).tolist() == [-0.0125, 0, 0.0125]
    assert [topics_to_decide(compared, board, 4, pair) for pair in (3, 4)] == [None, None]
    close = np.array([[0.5, 0.4, 0.7, 0.2, 0.6], [0.4, 0.4, 0.5, 0.1, 0.5]])
    compared = all_pairs(close, HOLM, seed=1)
    assert topics_at(0.025, compared, 5, [0]) == [8]
    assert topics_to_decide(compared, verdicts(compared), 5, 0) == 7


@pytest.mark.parametrize(("runs", "topics"), [(5, 3), (12, 50), (143, 30), (30, 250)])
def test_topics_of_all_pairs_are_those_of_each(runs: int, topics: int) -> None:
    """As topics_needed has them one by one, from 200 on within a topic; none of what is decided."""
    random = np.random.default_rng(runs)
    hard = random.random(topics)
    scores = np.clip(hard + random.normal(np.linspace(0, 0.3, runs)[:, None], 0.2, (runs, topics)), 0, 1)
    compared = all_pairs(scores, HOLM, seed=1)
    board = verdicts(compared)
    needed = topics_of_undecided(compared, board, topics, board.signs)
    signs = board.signs[np.triu_indices(runs, 1)]
    level = 0.025 / np.count_nonzero(signs == 0)
    first, second = np.triu_indices(runs, 1)
    chosen = random.permutation(len(signs))[:300].tolist()
    for at in chosen:
        expected = None if signs[at] else needed_alone(scores[first[at]] - scores[second[at]], level)
        if expected is None or expected >= 200:
            assert needed[at] is None or needed[at] == pytest.approx(expected, abs=1)
        else:
            assert needed[at] == expected
        assert signs[at] or needed[at] == topics_to_decide(compared, board, topics, at)


def needed_alone(difference: NDArray[np.float64], level: float) -> int | None:
    """At least one topic more than there are; None beyond a hundred times as many."""
    topics = len(difference)
    try:
        found = topics_needed(difference.mean(), difference.std(ddof=1), alpha=level)
    except ValueError:
        return None
    return max(topics + 1, found) if found <= 100 * topics else None


@pytest.mark.parametrize("key", ["t+holm", "t+bonferroni", "tukey"])
def test_topics_that_would_decide_a_run_against_the_baseline(key: str) -> None:
    """At the level over the pairs with it, fewer than over all pairs but for Tukey's; itself has none."""
    random = np.random.default_rng(8)
    scores = random.random((9, 20)) * 0.4 + np.linspace(0.4, 0, 9)[:, None]
    compared = all_pairs(scores, method(key), seed=1)
    against = against_baseline(compared, scores, 4)
    needed = topics_against(compared, against, 20)
    found = np.count_nonzero(against.verdicts)
    assert 0 < found < 8
    level = {"t+holm": 0.025 / (8 - found), "t+bonferroni": 0.025 / 8}.get(key, 0.0)
    for run in range(9):
        if run == 4 or against.verdicts[run]:
            assert needed[run] is None
            continue
        pair = int(square(np.arange(36), 9, mirrored=1)[run, 4])
        if not level:
            assert needed[run] == topics_to_decide(compared, verdicts(compared), 20, pair)
            continue
        expected = needed_alone(scores[run] - scores[4], level)
        assert needed[run] == (expected and pytest.approx(expected, abs=1))
