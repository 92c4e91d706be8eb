"""A table of pairs with its runs in another order is the table of the runs in that order."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from leaderboard.stats.pairs.methods import all_pairs, in_order, method

ARRAYS = ("difference", "low", "high", "p", "adjusted")


@settings(deadline=None, max_examples=40)
@given(
    st.permutations(range(5)),
    st.integers(0, 99),
    st.sampled_from(["t+holm", "wilcoxon+bh", "sign+bonferroni"]),
)
def test_reordering_is_comparing_in_that_order(order: list[int], seed: int, key: str) -> None:
    """Every array equals that of a comparison of the reordered scores."""
    scores = np.random.default_rng(seed).random((5, 12))
    table = in_order(all_pairs(scores, method(key), seed=1), order)
    expected = all_pairs(scores[order], method(key), seed=1)
    for name in ARRAYS:
        assert getattr(table, name) == pytest.approx(getattr(expected, name), abs=1e-12), name


def test_one_topic_keeps_its_endless_intervals() -> None:
    """Intervals without ends stay so from either side, and no number is undefined."""
    table = in_order(all_pairs(np.array([[0.1], [0.3], [0.2]]), method("t+holm"), seed=1), [1, 2, 0])
    assert table.low.tolist() == [-np.inf] * 3
    assert table.high.tolist() == [np.inf] * 3
    assert table.difference == pytest.approx([0.1, 0.2, 0.1])


@pytest.mark.parametrize("order", [[0, 1], [0, 1, 1], [1, 2, 3]])
def test_an_order_names_each_run_once(order: list[int]) -> None:
    """A run that is missing or named twice raises ValueError."""
    with pytest.raises(ValueError, match="order"):
        in_order(all_pairs(np.eye(3), method("t+holm"), seed=1), order)
