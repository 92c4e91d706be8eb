"""Item-rest correlations against numpy's, and where there are none."""

import numpy as np
import pytest

from leaderboard.stats.reliability import discrimination


def test_each_topic_is_correlated_with_the_mean_of_the_others() -> None:
    """As np.corrcoef has it, topic by topic."""
    scores = np.random.default_rng(1).random((12, 5)) + np.linspace(0, 1, 12)[:, None]
    expected = [
        np.corrcoef(scores[:, topic], np.delete(scores, topic, axis=1).mean(axis=1))[0, 1]
        for topic in range(5)
    ]
    assert discrimination(scores).tolist() == pytest.approx(expected)
    assert discrimination(1 - scores).tolist() == pytest.approx(expected)


def test_topics_that_agree_and_one_that_does_not() -> None:
    """Two topics order the runs alike, the third exactly the other way round."""
    order = np.array([0.1, 0.2, 0.3, 0.4])
    correlations = discrimination(np.column_stack((order, 2 * order, 3 * order, -order))).tolist()
    assert correlations == pytest.approx([1.0, 1.0, 1.0, -1.0])


def test_what_is_not_defined_is_masked() -> None:
    """A topic without differences, even those of rounding, correlates with nothing."""
    scores = np.array([[0.1 + 0.2, 0.5, 0.1], [0.3, 0.6, 0.2], [0.3, 0.9, 0.3]])
    assert discrimination(scores).mask.tolist() == [True, False, False]
    assert discrimination(scores).tolist()[0] is None
    constant = np.array([[0.5, 0.1], [0.5, 0.2], [0.5, 0.3]])
    assert discrimination(constant).tolist() == [None, None]


@pytest.mark.parametrize("shape", [(0, 3), (1, 3), (2, 3), (5, 1), (5, 0)])
def test_too_few_runs_or_topics_give_nothing(shape: tuple[int, int]) -> None:
    """Of two runs every correlation would be 1 or -1."""
    scores = np.arange(shape[0] * shape[1], dtype=float).reshape(shape)
    assert discrimination(scores).tolist() == [None] * shape[1]
