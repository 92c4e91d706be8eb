"""Standardised scores: worked means, constant topics, properties of every form."""

from typing import get_args

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.typing import NDArray
from scipy.stats import norm, zscore

from leaderboard.stats.reliability import Form, standardised

SCORES = np.array([[0.5, 0.4, 0.7, 0.2, 0.6], [0.4, 0.4, 0.5, 0.1, 0.5], [0.3, 0.5, 0.4, 0.2, 0.3]])
FORMS: tuple[Form, ...] = get_args(Form)


@pytest.mark.parametrize(
    ("form", "means"),
    [
        ("normal", [0.702472, 0.381192, 0.416336]),
        ("empirical", [0.933333, 0.6, 0.6]),
        ("uniform", [0.588919, 0.448038, 0.463043]),
    ],
)
def test_worked_example(form: Form, means: list[float]) -> None:
    """Three runs on five topics."""
    assert standardised(SCORES, form).mean(axis=1) == pytest.approx(means, abs=5e-7)


def test_scipy_agrees() -> None:
    """z by SciPy's zscore with n - 1, its normal distribution and a cut line."""
    z = zscore(SCORES, axis=0, ddof=1)
    assert standardised(SCORES, "normal") == pytest.approx(norm.cdf(z), abs=1e-14)
    assert standardised(SCORES, "uniform") == pytest.approx(np.clip(0.15 * z + 0.5, 0, 1), abs=1e-14)


def test_a_frozen_reference_says_what_is_usual() -> None:
    """A new run is placed among the reference runs, and theirs stay as they are without it."""
    new = np.array([[0.45, 0.6, 0.5, 0.0, 0.3]])
    assert standardised(new, "empirical", reference=SCORES).tolist() == [[2 / 3, 1.0, 2 / 3, 0.0, 1 / 3]]
    both = np.concatenate((SCORES, new))
    for form in FORMS:
        placed = standardised(both, form, reference=SCORES)
        assert placed[:3].tolist() == standardised(SCORES, form).tolist()


def test_a_topic_without_differences_is_left_as_it_is() -> None:
    """With all scores equal, or one reference run, z is the score; 0.1 three times has a rounded mean."""
    for reference in (np.full((3, 1), 0.1), np.full((1, 1), 0.7)):
        scores = np.array([[0.1], [0.9]])
        assert standardised(scores, "uniform", reference=reference).ravel() == pytest.approx([0.515, 0.635])
        assert standardised(scores, "normal", reference=reference) == pytest.approx(norm.cdf(scores))
    assert standardised(np.full((3, 1), 0.1), "empirical").tolist() == [[1.0]] * 3


@given(
    arrays(np.float64, st.tuples(st.integers(1, 6), st.integers(1, 5)), elements=st.floats(0, 1, width=16))
)
def test_standardised_scores_keep_the_order_on_every_topic(scores: NDArray[np.float64]) -> None:
    """From 0 to 1, and never higher for a lower score."""
    for form in FORMS:
        z = standardised(scores, form)
        assert z.shape == scores.shape
        assert ((z >= 0) & (z <= 1)).all()
        for topic in range(scores.shape[1]):
            order = np.argsort(scores[:, topic], kind="stable")
            assert (np.diff(z[order, topic]) >= 0).all()


def test_refusals() -> None:
    """Other topics, or no reference run."""
    with pytest.raises(ValueError, match="5 topics cannot be standardised by 4"):
        standardised(SCORES, "normal", reference=SCORES[:, :4])
    with pytest.raises(ValueError, match="without reference runs"):
        standardised(SCORES, "normal", reference=SCORES[:0])
