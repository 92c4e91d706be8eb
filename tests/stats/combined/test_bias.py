"""Whom a machine favours, and what more judging would show."""

import numpy as np
import pytest

from leaderboard.stats.combined.bias import favours
from leaderboard.stats.combined.labels import gain_of
from leaderboard.stats.combined.measures import dcg, discounts
from leaderboard.stats.combined.planning import Contrast, plan, variances
from leaderboard.stats.reliability.power import power, topics_needed
from tests.stats.combined.example import LABELS, RANKINGS

MACHINE = np.array([[0.6, 0.5, 0.8, 0.3], [0.7, 0.5, 0.6, 0.4], [0.4, 0.6, 0.5, 0.4], [0.5, 0.5, 0.3, 0.3]])
PEOPLE = np.array([[0.5, 0.5, 0.7, 0.2], [0.5, 0.2, 0.3, 0.2], [0.4, 0.5, 0.5, 0.3], [0.4, 0.5, 0.3, 0.3]])


def test_a_favoured_team_is_found() -> None:
    """Teams A, X, A, B: X is, the others are given less by as little p."""
    a, x, b = favours(MACHINE, PEOPLE, [[0, 2], [1], [3]])
    assert (a.mean, a.low, a.high) == pytest.approx((-0.0375, -0.0772805788, 0.0022805788), rel=0, abs=6e-11)
    assert (a.p, a.adjusted) == pytest.approx((0.0576688856, 0.1153377712), rel=0, abs=6e-11)
    assert (b.mean, b.low, b.high) == pytest.approx((-0.075, -0.1545611576, 0.0045611576), rel=0, abs=6e-11)
    assert (x.mean, x.low, x.high) == pytest.approx((0.15, 0.0581306884, 0.2418693116), rel=0, abs=6e-11)
    assert (x.p, x.adjusted) == pytest.approx((0.0138468330, 0.0415404990), rel=0, abs=6e-11)
    assert [team.is_favoured for team in (a, x, b)] == [False, True, False]


def test_what_gives_all_alike_favours_nobody() -> None:
    """A machine that is generous to all runs is 0 for each."""
    for team in favours(PEOPLE + 0.1, PEOPLE, [[0], [1], [2, 3]]):
        assert (team.mean, team.adjusted) == (pytest.approx(0), pytest.approx(1))
    with pytest.raises(ValueError, match="two topics"):
        favours(PEOPLE[:, :1], PEOPLE[:, :1], [[0]])


def test_power_of_the_plan() -> None:
    """The noncentral t of the planner."""
    assert power(0.05, 0.02 * 5, 25) == pytest.approx(0.6697077042, rel=0, abs=6e-11)
    assert topics_needed(0.03, 0.12) == topics_needed(0.05, 0.2) == 128


def test_what_more_judging_would_show() -> None:
    """Of the example by DCG@3, and of a difference of 1: probabilities doubled, and all judged."""
    scores = dcg(LABELS, RANKINGS, cutoff=3)
    difference = scores[0] - scores[1]
    assert difference == pytest.approx([0.36907025, 1.4523719, 3.47216943], abs=5e-9)
    weight = np.zeros(15)
    for run, sign in ((0, 1), (1, -1)):
        places = RANKINGS[run]
        held = places >= 0
        np.add.at(weight, places[held], sign * np.broadcast_to(discounts(3), places.shape)[held])
    now, rest, _ = variances(LABELS, Contrast(difference, weight), gain_of)
    assert (now, rest) == pytest.approx((0.8267971680, 0.1135041455), rel=0, abs=6e-11)
    moved = Contrast(difference - difference.mean() + 1, weight)
    doubled = np.minimum(1, 2 * LABELS.probability)
    made = plan(LABELS, moved, gain_of, [doubled], level=0.05)
    assert made.needed is None
    every = made.all_judged
    assert (every.documents, every.error) == (5, pytest.approx(0.3369037630, rel=0, abs=6e-11))
    assert every.power == pytest.approx(0.3817071248, rel=0, abs=6e-11)
    less = plan(LABELS, moved, gain_of, [doubled], level=0.5).needed
    assert less is not None
    assert (less.documents, less.error) == (3, pytest.approx(0.4739359204, rel=0, abs=6e-11))
    assert power(1, less.error * np.sqrt(3), 3) == pytest.approx(0.2353454297, rel=0, abs=6e-11)
    assert made.topics is not None
    assert made.topics > 3
