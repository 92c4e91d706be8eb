"""What is likely of a mean difference: worked numbers, SciPy's t, and scores that leave no doubt."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy import stats

from leaderboard.stats.pairs.paired_t import paired_t
from leaderboard.stats.standing import posterior
from tests.stats.worked import TABLES, WORKED, generated


def test_worked_example() -> None:
    """Two of three runs on five topics, differences of 0.01 being of no matter."""
    probabilities = posterior(WORKED, rope=0.01)
    assert [probability[0] for probability in probabilities] == pytest.approx(
        [0.012693, 0.010598, 0.976709], abs=5e-7
    )


def test_agrees_with_scipy() -> None:
    """The mean is distributed as t around the observed difference."""
    scores = generated(4, 50)
    t = paired_t(scores)
    mean = stats.t(49, t.difference, t.sd / np.sqrt(50))
    probabilities = posterior(scores, rope=0.02)
    assert probabilities.worse == pytest.approx(mean.cdf(-0.02), abs=1e-12)
    assert probabilities.better == pytest.approx(mean.sf(0.02), abs=1e-12)
    assert probabilities.equal == pytest.approx(mean.cdf(0.02) - mean.cdf(-0.02), abs=1e-12)


def test_constant_differences_leave_no_doubt() -> None:
    """The difference is what it is on every topic; at the rope's end it is of no matter."""
    scores = np.array([[0.75, 0.5], [0.5, 0.25], [0.5, 0.25]])
    probabilities = posterior(scores, rope=0.25)
    assert [probability.tolist() for probability in probabilities] == [[0, 0, 0], [1, 1, 1], [0, 0, 0]]
    probabilities = posterior(scores, rope=0.0)
    assert [probability.tolist() for probability in probabilities] == [[0, 0, 0], [0, 0, 1], [1, 1, 0]]


def test_what_is_not_likely_or_unlikely_is_refused() -> None:
    """One topic, or a size below 0."""
    with pytest.raises(ValueError, match="one topic"):
        posterior(WORKED[:, :1], rope=0.01)
    with pytest.raises(ValueError, match="not a size"):
        posterior(WORKED, rope=-0.01)


@given(TABLES, st.sampled_from([0.0, 0.01, 0.3]))
def test_probabilities_sum_to_one(scores: NDArray[np.float64], rope: float) -> None:
    """Of any scores; and what is better one way is worse the other."""
    probabilities = posterior(scores, rope=rope)
    assert np.sum(probabilities, axis=0) == pytest.approx(np.ones(len(probabilities.worse)))
    assert all((probability >= 0).all() for probability in probabilities)
    turned = posterior(scores[::-1], rope=rope)
    assert turned.better[::-1][[0, -1]] == pytest.approx(probabilities.worse[[0, -1]], abs=1e-9)
