"""Average precision estimated from samples."""

from itertools import combinations, product

import numpy as np
import pytest

from leaderboard.measures.example import judged
from leaderboard.measures.grammar import parse
from leaderboard.pooling.sampled import OUTSIDE, Judgments, stat_ap, xinf_ap

A, B, C, D, E, G, Z = range(7)
RUN = np.array([A, B, C, D, E, OUTSIDE, G, OUTSIDE])
STRATUM = np.array([0, 0, 1, 1, 1, 1, 1])


def test_extended_inferred_ap() -> None:
    """Run a to h, strata a b and c d e g z; a and c relevant, b and e not: R is 1 + 5/2."""
    sample = Judgments(STRATUM, np.array([1, 0, 1, -1, 0, -1, -1]))
    assert sample.relevant(1).sum() == 3.5
    assert round(xinf_ap(RUN, sample), 6) == 0.761905


def test_with_everything_judged_it_is_average_precision() -> None:
    """a and c retrieved at 1 and 3, z missed: (1 + 2/3) / 3, up to the epsilon."""
    sample = Judgments(STRATUM, np.array([1, 0, 1, 0, 0, 0, 1]))
    assert xinf_ap(RUN, sample) == pytest.approx(5 / 9, abs=1e-5)
    assert round(stat_ap(RUN, sample), 6) == 0.555556


def test_one_stratum_is_inferred_ap_but_for_the_number_of_relevant_ones() -> None:
    """The registry's infAP counts judged relevant documents; here both sides are scaled up, which cancels."""
    grades = {1: 1, 2: -1, 3: 0, 4: 1, 6: 1, 7: 0}
    sample = Judgments(np.zeros(7, dtype=np.int64), np.array([*grades.values(), 1]))
    ranking = np.array([0, 1, 2, 3, OUTSIDE, 4, 5])
    inferred = parse("infAP").compute(judged(grades, missed=[1]))[0]
    assert round(inferred, 6) == 0.559028
    assert xinf_ap(ranking, sample) == pytest.approx(inferred, abs=1e-5)


def test_nothing_relevant_is_zero() -> None:
    """No relevant document drawn, or none in the ranking."""
    for estimate in (xinf_ap, stat_ap):
        assert estimate(RUN, Judgments(STRATUM, np.zeros(7, dtype=np.int64))) == 0.0
        assert estimate(RUN[:0], Judgments(STRATUM, np.ones(7, dtype=np.int64))) == 0.0


def test_levels_of_relevance() -> None:
    """At level 2 a grade of 1 is a miss."""
    twos = Judgments(STRATUM, np.array([2, 1, 2, 0, 0, 0, 2]))
    ones = Judgments(STRATUM, np.array([1, 0, 1, 0, 0, 0, 1]))
    for estimate in (xinf_ap, stat_ap):
        assert estimate(RUN, twos, rel=2) == estimate(RUN, ones)


def test_horvitz_thompson_is_unbiased() -> None:
    """Over all samples of the first stratum and three of the other five, the sum of precisions is right."""
    truth = np.array([1, 0, 1, 1, 0, 1, 1])
    full = Judgments(STRATUM, truth)
    estimates = []
    for drawn in combinations(range(2, 7), 3):
        grades = np.where(np.isin(np.arange(7), [0, 1, *drawn]), truth, -1)
        sample = Judgments(STRATUM, grades)
        estimates.append(stat_ap(RUN, sample) * sample.relevant(1).sum())
    assert len(estimates) == 10
    assert np.mean(estimates) == pytest.approx(stat_ap(RUN, full) * full.relevant(1).sum())


def test_samples_estimate_the_same_on_average() -> None:
    """xinfAP over all samples of half of each stratum is close to AP, for every truth of six documents."""
    stratum, ranking = np.array([0, 0, 1, 1, 1, 1]), np.arange(6)
    errors = []
    for bits in product((0, 1), repeat=6):
        truth = np.array(bits)
        if truth.sum() < 3:
            continue
        samples = [
            xinf_ap(ranking, Judgments(stratum, np.where(np.isin(np.arange(6), [0, 1, *drawn]), truth, -1)))
            for drawn in combinations(range(2, 6), 2)
        ]
        errors.append(np.mean(samples) - stat_ap(ranking, Judgments(stratum, truth)))
    assert len(errors) == 42
    assert abs(float(np.mean(errors))) < 0.03
