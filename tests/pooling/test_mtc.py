"""Minimal test collections: what decides a difference in average precision."""

import numpy as np

from leaderboard.pooling.mtc import coefficients, difference

A, B = np.array([1, 2, 3]), np.array([2, 3, 1])
"""Ranks of documents 1, 2 and 3: A ranks them 1 2 3, B ranks them 3 1 2."""


def test_coefficients() -> None:
    """1 / max rank in A less that in B, for each pair."""
    assert coefficients(A, B).round(6).tolist() == [
        [0.5, 0.166667, -0.166667],
        [0.166667, 0.166667, 0.0],
        [-0.166667, 0.0, -0.666667],
    ]


def test_the_difference_in_ap() -> None:
    """1 and 3 relevant: A has (1 + 2/3) / 2, B has (1 + 1) / 2."""
    assert round(difference(A, B, np.array([True, False, True])), 6) == -0.166667
    assert difference(A, B, np.zeros(3, dtype=np.bool_)) == 0.0


def test_documents_that_a_ranking_lacks_add_nothing() -> None:
    """The first ranks document 1 only, the second document 2 only: both have half of R."""
    assert difference(np.array([1, 0]), np.array([0, 1]), np.array([True, True])) == 0.0
    assert difference(np.array([1, 0]), np.array([0, 0]), np.array([True, True])) == 0.5
