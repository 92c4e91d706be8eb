"""The paired t guarded against skew: Johnson's formula term by term, and what always holds."""

import numpy as np
import pytest
from scipy.stats import t as student

from leaderboard.stats.pairs.methods import guarded_t
from leaderboard.stats.pairs.paired_t import paired_t


def test_it_is_johnsons_of_each_pair() -> None:
    """Three runs of skewed scores on twelve topics, each term by NumPy of the differences themselves."""
    scores = np.random.default_rng(4).gamma(0.6, size=(3, 12))
    plain = paired_t(scores)
    guarded = guarded_t(scores, plain)
    for at, (one, two) in enumerate(((0, 1), (0, 2), (1, 2))):
        difference = scores[one] - scores[two]
        mean, sd = difference.mean(), difference.std(ddof=1)
        third = ((difference - mean) ** 3).mean()
        johnson = (mean + third / (6 * sd**2 * 12) + third * mean**2 / (3 * sd**4)) * 12**0.5 / sd
        assert guarded.t[at] == pytest.approx(johnson, abs=1e-12)
        assert guarded.p[at] == pytest.approx(max(plain.p[at], 2 * student.sf(abs(johnson), 11)), abs=1e-12)


def test_it_never_finds_more_than_the_paired_t() -> None:
    """Of 300 boards some p grow, none falls; where differences are symmetric the two agree."""
    grown = 0
    for seed in range(300):
        scores = np.random.default_rng(seed).gamma(0.5, size=(4, 9))
        plain = paired_t(scores)
        guarded = guarded_t(scores, plain)
        assert (guarded.p >= plain.p).all()
        grown += np.count_nonzero(guarded.p > plain.p)
    assert grown > 100
    symmetric = np.array([[0.1, 0.5, 0.3], [0.0, 0.0, 0.0]])
    assert guarded_t(symmetric, paired_t(symmetric)).p == pytest.approx(paired_t(symmetric).p)


def test_what_has_no_spread_keeps_its_p() -> None:
    """A constant difference, equal runs, one topic."""
    for scores in ([[0.5, 0.7], [0.25, 0.45]], [[0.5, 0.7], [0.5, 0.7]], [[0.5], [0.2]]):
        plain = paired_t(np.array(scores))
        assert (guarded_t(np.array(scores), plain).p == plain.p).all()
