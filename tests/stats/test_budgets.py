"""What the answers of a blind board can have given away."""

import pytest

from leaderboard.stats.budgets import answer_bits, error_bound


def test_budgets_grow_with_what_is_told() -> None:
    """More answers, measures and decimals tell more; more topics bear more."""
    assert answer_bits([5, 5], 2, 3) == pytest.approx(2 * answer_bits([10], 1, 3))
    assert answer_bits([10], 1, 4) > answer_bits([10], 1, 3) > 0
    assert error_bound(100, 50) > error_bound(100, 500) > error_bound(10, 500)
