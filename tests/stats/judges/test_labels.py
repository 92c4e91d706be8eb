"""Agreement of labels, against numbers worked out by hand."""

import numpy as np
import pytest

from leaderboard.stats.assessors import Ratings, alpha
from leaderboard.stats.judges import label_agreement, level_agreement, mean_of_topics, shared, united

REFERENCE = np.array([0, 0, 1, 1, 2, 3, 0, 2, 1, 3])
JUDGE = np.array([0, 1, 1, 2, 2, 3, 0, 1, 0, 2])


def test_the_worked_example() -> None:
    """Ten documents on a scale from 0 to 3."""
    found = label_agreement(REFERENCE, JUDGE, [(1, 1), (2, 2), (2, 1)])
    assert (found.kappa, found.linear, found.quadratic) == pytest.approx(
        (0.324324, 0.568966, 0.770642), abs=5e-7
    )
    assert found.alpha == pytest.approx(0.771723, abs=5e-7)
    assert [level.kappa for level in found.levels] == pytest.approx([0.523810, 0.583333, 0.444444], abs=5e-7)
    assert [level.jaccard for level in found.levels[:2]] == pytest.approx([0.75, 0.6])
    assert (found.mae, found.bias) == pytest.approx((0.5, -0.1))
    table = Ratings(("h", "j"), (("", ""),) * 10, np.vstack((REFERENCE, JUDGE)), np.ones((2, 10), dtype=bool))
    assert alpha(table, "nominal").value == pytest.approx(0.353741, abs=5e-7)
    assert alpha(table, "interval").value == pytest.approx(0.781609, abs=5e-7)


def test_levels_are_the_grades_given() -> None:
    """Where none is named."""
    assert [(level.truth, level.judge) for level in label_agreement(REFERENCE, JUDGE).levels] == [
        (1, 1),
        (2, 2),
        (3, 3),
    ]


def test_precision_and_recall_of_what_is_relevant() -> None:
    """Three found, two of them rightly, of four."""
    found = level_agreement(np.array([1, 1, 1, 1, 0]), np.array([1, 1, 0, 0, 1]), 1, 1)
    assert (found.precision, found.recall, found.f1) == (2 / 3, 1 / 2, 4 / 7)


def test_what_is_undefined() -> None:
    """One grade throughout by both; nothing relevant; scales that differ. One constant side has κ 0."""
    same = label_agreement(np.zeros(4, dtype=int), np.zeros(4, dtype=int), [(1, 1)])
    assert (same.kappa, same.alpha, same.mae) == (None, None, 0.0)
    (level,) = same.levels
    assert (level.kappa, level.jaccard, level.precision, level.recall, level.f1) == (None,) * 5
    assert label_agreement(np.array([0, 1, 1]), np.ones(3, dtype=int)).kappa == pytest.approx(0)
    other = label_agreement(REFERENCE, JUDGE, same_scale=False)
    assert (other.linear, other.quadratic, other.alpha, other.mae, other.bias) == (None,) * 5
    assert other.kappa is not None
    nothing = np.zeros(0, dtype=int)
    assert label_agreement(nothing, nothing).mae is None


def test_shared_and_united_documents() -> None:
    """What both judged; or all of either, missing ones 0 and grades cut."""
    one, two = {b"a": 3, b"b": -1, b"c": 1}, {b"c": 2, b"d": 5}
    assert [side.tolist() for side in shared(one, two)] == [[1], [2]]
    assert [side.tolist() for side in united(one, two, 3)] == [[3, 0, 1, 0], [0, 0, 2, 3]]


def test_a_mean_is_over_topics_on_which_there_is_a_value() -> None:
    """With how many those are."""
    assert mean_of_topics([None, 0.25, 0.75]) == (0.5, 2)
