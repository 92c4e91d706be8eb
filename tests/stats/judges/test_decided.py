"""Pairs that reference and judge decide, and the range of τ that follows."""

import numpy as np
import pytest
from hypothesis import given
from numpy.typing import NDArray

from leaderboard.stats.judges import counts, decided_pairs, guaranteed_range
from leaderboard.stats.orders.rank_correlation import tau_b
from leaderboard.stats.pairs.corrections import LEVEL, holm
from leaderboard.stats.pairs.methods import method
from leaderboard.stats.pairs.paired_t import paired_t
from tests.stats.worked import TABLES

FloatArray = NDArray[np.float64]

HOLM = method("t+holm")
BY_REFERENCE = np.array([1, 1, 1, 1, 0, 0, 0, 0, 0, 0])
BY_JUDGE = np.array([1, -1, 0, 0, 1, -1, 0, 0, 0, 0])
REFERENCE_MEANS = np.array([1, 1, 1, 1, 1, 1, 1, 1, 0, 0])
JUDGE_MEANS = np.array([1, -1, 1, -1, 1, -1, 1, -1, 0, 1])
BOARD = np.array([[0.9, 0.8, 0.95, 0.82, 0.9], [0.5, 0.52, 0.49, 0.51, 0.5], [0.1, 0.14, 0.07, 0.12, 0.1]])


def test_each_pair_is_counted_once() -> None:
    """Two of each kind; equal means on one side alone are not the same way."""
    found = counts(BY_REFERENCE, BY_JUDGE, REFERENCE_MEANS, JUDGE_MEANS)
    assert (found.both_same, found.both_opposite) == (1, 1)
    assert (found.one_same, found.one_opposite) == (2, 2)
    assert (found.none_same, found.none_opposite) == (2, 2)
    assert (found.by_reference, found.by_judge, found.against) == (4, 4, 1)
    assert (found.recall, found.false_verdicts) == (1 / 4, (1 + 1) / 4)


def test_nothing_decided_has_no_shares() -> None:
    """A share of no pair is none."""
    nothing = np.zeros(3, dtype=int)
    found = counts(nothing, nothing, nothing, nothing)
    assert (found.recall, found.false_verdicts, found.none_same) == (None, None, 3)


def test_a_judge_that_turns_the_board_round_decides_all_oppositely() -> None:
    """And one that copies it, all alike."""
    copied = decided_pairs(BOARD, BOARD[:, :4], HOLM, seed=1)
    assert (copied.both_same, copied.recall, copied.false_verdicts) == (3, 1, 0)
    turned = decided_pairs(BOARD, -BOARD, HOLM, seed=1)
    assert (turned.both_opposite, turned.recall, turned.false_verdicts) == (3, 0, 1)
    assert guaranteed_range(BOARD, -BOARD).high == -1
    assert guaranteed_range(BOARD, BOARD).low == 1


@given(TABLES)
def test_six_counts_are_all_pairs(scores: FloatArray) -> None:
    """Whatever is tied."""
    found = decided_pairs(scores, scores[::-1], HOLM, seed=1)
    runs = len(scores)
    six = (found.both_same, found.both_opposite, found.one_same, found.one_opposite)
    assert sum((*six, found.none_same, found.none_opposite)) == runs * (runs - 1) // 2
    assert found.by_reference == found.by_judge


@given(TABLES)
def test_the_range_is_what_holm_at_half_the_level_says(scores: FloatArray) -> None:
    """2C/N - 1 to 1 - 2D/N, by hand."""
    other = scores[::-1]
    one, two = (paired_t(table) for table in (scores, other))
    both = (holm(one.p) < LEVEL) & (holm(two.p) < LEVEL)
    same = int((both & (one.difference * two.difference > 0)).sum())
    opposite = int((both & (one.difference * two.difference < 0)).sum())
    found = guaranteed_range(scores, other)
    assert (found.low, found.high) == (2 * same / len(both) - 1, 1 - 2 * opposite / len(both))


def test_the_range_holds_the_truth_of_simulated_boards() -> None:
    """In at least 95 % of them, for judges with a bias and without, near means and far ones."""
    random = np.random.default_rng(20261124)
    held = []
    for board in range(200):
        means = random.normal(scale=0.3 if board % 2 else 0.05, size=10)
        judged = means + random.normal(scale=0.1 if board % 4 < 2 else 0.0, size=10)
        shared = random.normal(scale=0.1, size=(10, 30))
        reference, judge = (
            mean[:, None] + shared + random.normal(scale=0.1, size=shared.shape) for mean in (means, judged)
        )
        truth, found = tau_b(means, judged), guaranteed_range(reference, judge)
        assert truth is not None
        held.append(found.low - 1e-9 <= truth <= found.high + 1e-9)
    assert np.mean(held) >= 0.95


@pytest.mark.parametrize("name", ["t+bonferroni", "sign+holm", "t+bh", "tukey"])
def test_the_task_may_use_another_method(name: str) -> None:
    """Its pairs are decided as on the task's board."""
    found = decided_pairs(BOARD, BOARD, method(name), seed=1)
    assert found.both_same == found.by_reference == found.by_judge
