"""Coefficients of two boards, against numbers worked out by hand, and what always holds."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from leaderboard.stats.judges import accuracies, board_agreement, pearson
from leaderboard.stats.orders.rank_correlation import largest_moves, tau_ap_b
from leaderboard.stats.orders.rbo import rbo_within

FloatArray = NDArray[np.float64]
REFERENCE = np.array([0.8, 0.7, 0.6, 0.6, 0.3])
JUDGE = np.array([0.9, 0.6, 0.75, 0.6, 0.2])
BOARDS = st.lists(st.integers(0, 6), min_size=2, max_size=9).map(lambda values: np.array(values) / 10)


def test_the_worked_example() -> None:
    """Seven pairs alike, one opposite, one tie on either side."""
    found = board_agreement(REFERENCE, JUDGE, "ABCDE", k=3)
    assert found.tau_b == pytest.approx(6 / 9)
    assert found.rho == pytest.approx(0.763158, abs=5e-7)
    assert found.r == pytest.approx(0.922410, abs=5e-7)
    assert found.tau_ap_b == pytest.approx(0.5)
    assert found.accuracy == pytest.approx(7.5 / 9)
    assert found.rbo == pytest.approx(0.890113, abs=5e-7)
    assert rbo_within("ABCDE", "ACBDE", 0.8) == pytest.approx(0.881009, abs=5e-7)


def test_the_top_has_all_that_tie_with_its_last() -> None:
    """C and D tie for the third place: both are taken, four runs; cut as autojudge-evaluate does, three."""
    found = board_agreement(REFERENCE, JUDGE, "ABCDE", k=3)
    assert (found.top, found.top_tau) == (4, pytest.approx(0.4))
    cut = board_agreement(REFERENCE, JUDGE, "ABCDE", k=3, cut_ties=True)
    assert (cut.top, cut.top_tau) == (3, pytest.approx(1 / 3))
    assert board_agreement(REFERENCE, JUDGE, "ABCDE").top_tau is None


def test_common_runs_and_zeros() -> None:
    """A judge that lacks E, and one that lacks B: over common runs, and with 0 for it."""
    for lacking, common, zero in ((4, 0.4, 2 / 3), (1, 0.912871, 0.316228)):
        kept = np.arange(5) != lacking
        assert board_agreement(REFERENCE[kept], JUDGE[kept], "ABCD").tau_b == pytest.approx(common, abs=5e-7)
        zeroed = np.where(kept, JUDGE, 0.0)
        assert board_agreement(REFERENCE, zeroed, "ABCDE").tau_b == pytest.approx(zero, abs=5e-7)


def test_the_published_example_of_tau_ap_with_ties() -> None:
    """Ten scores with ties on either side."""
    x = np.array([0.9, 0.4, 0.9, 0.9, 0.7, 0.1, 0.2, 0.4, 0.5, 1.0])
    y = np.array([0.8, 0.4, 0.8, 1.0, 0.7, 0.1, 0.4, 0.5, 0.6, 1.0])
    assert board_agreement(x, y, "abcdefghij").tau_ap_b == pytest.approx(0.732143, abs=5e-7)


def test_what_is_undefined() -> None:
    """A board that ties all runs has no order; RBO goes by names then."""
    found = board_agreement(np.full(3, 0.5), np.array([0.1, 0.2, 0.3]), "abc")
    assert (found.tau_b, found.tau_ap_b, found.rho, found.r, found.accuracy) == (None,) * 5
    judged = board_agreement(np.array([0.1, 0.2, 0.3]), np.full(3, 0.5), "abc")
    assert (judged.tau_b, judged.tau_ap_b, judged.accuracy) == (None, None, 0.5)
    assert tau_ap_b(np.full(3, 0.5), np.full(3, 0.5)) is None
    assert pearson(np.array([1.0]), np.array([1.0])) is None
    with pytest.raises(ValueError, match="fewer than two runs"):
        board_agreement(np.array([1.0]), np.array([1.0]), "a")


def test_the_largest_moves() -> None:
    """C rises from a shared third place to the second."""
    moves = largest_moves(REFERENCE, JUDGE)
    assert moves.move.tolist() == [0, -1, 1, 0, 0]


@given(BOARDS)
def test_a_board_agrees_with_itself_and_not_with_its_negation(board: FloatArray) -> None:
    """τ 1 and -1 where anything is ordered at all."""
    names = [f"run{at}" for at in range(len(board))]
    same, other = board_agreement(board, board, names), board_agreement(board, -board, names)
    assert same.rbo == pytest.approx(1)
    if np.ptp(board) == 0:
        assert (same.tau_b, other.tau_b, same.accuracy) == (None, None, None)
        return
    assert (same.tau_b, other.tau_b) == (pytest.approx(1), pytest.approx(-1))
    assert (same.tau_ap_b, other.tau_ap_b) == (pytest.approx(1), pytest.approx(-1))
    assert (same.accuracy, other.accuracy) == (1, 0)


@given(BOARDS)
def test_accuracy_is_a_share_and_forgets_pairs_that_the_reference_ties(board: FloatArray) -> None:
    """A judge that ties all is right by half; the order of runs changes nothing."""
    judged = np.zeros_like(board)
    (share,) = accuracies(board[None], judged[None])
    assert np.isnan(share) if np.ptp(board) == 0 else share == 0.5
    backwards = accuracies(board[None, ::-1], judged[None, ::-1])
    assert np.array_equal(backwards, [share], equal_nan=True)
