"""Whom a machine favours, and what more judging would show."""

import numpy as np
import pytest
from scipy.stats import ttest_1samp

from benchmarks import combined
from leaderboard.stats.combined.bias import favours
from leaderboard.stats.combined.labels import gain_of
from leaderboard.stats.combined.measures import dcg, discounts
from leaderboard.stats.combined.planning import Contrast, plan, variances
from leaderboard.stats.reliability.power import power, topics_needed
from tests.stats.combined.example import LABELS, RANKINGS

PEOPLE = np.array([[0.5, 0.5, 0.7, 0.2], [0.5, 0.2, 0.3, 0.2], [0.4, 0.5, 0.5, 0.3], [0.4, 0.5, 0.3, 0.3]])


def test_favour_is_what_other_runs_of_that_strength_do_not_get() -> None:
    """By hand: the others' excess is .3 - .5 x score, so their line predicts .15, .05 of the fourth."""
    people = np.array([[0.0, 0.2], [0.3, 0.5], [0.7, 0.9], [0.5, 0.3]])
    machine = 0.5 * people + 0.3
    machine[3] += [0.05, 0.15]
    (fourth,) = favours(machine, people, [[3]])
    # Its excess is .1 and .3, the prediction .15 and .05: -.05 and .25 are left, with standard error .15.
    assert fourth.mean == pytest.approx(0.1, rel=0, abs=1e-12)
    assert (fourth.low, fourth.high) == pytest.approx((0.1 - 12.7062 * 0.15, 0.1 + 12.7062 * 0.15), abs=1e-5)
    assert fourth.p == pytest.approx(1 - 2 / np.pi * np.arctan(2 / 3), rel=1e-12)
    assert not fourth.is_favoured


def test_favour_by_the_line_of_each_topic() -> None:
    """Equal to what polyfit predicts topic by topic, tested by SciPy."""
    random = np.random.default_rng(5)
    people = random.random((9, 12)) * np.linspace(0.3, 0.9, 9)[:, None]
    machine = people + random.normal(scale=0.1, size=people.shape)
    machine[4:6] += 0.15
    groups = [[0, 8], [4, 5], [7]]
    strength, excess = people.mean(axis=1), machine - people
    for group, found in zip(groups, favours(machine, people, groups), strict=True):
        others = [run for run in range(9) if run not in group]
        line = np.polyfit(strength[others], excess[others], 1)
        left = excess[group].mean(axis=0) - (line[0] * strength[group].mean() + line[1])
        tested = ttest_1samp(left, 0)
        interval = tested.confidence_interval(0.95)
        assert (found.mean, found.p) == pytest.approx((left.mean(), tested.pvalue), rel=1e-9)
        assert (found.low, found.high) == pytest.approx(tuple(interval), rel=1e-9)
        assert found.is_favoured == (group == [4, 5])


def test_what_gives_all_alike_favours_nobody() -> None:
    """A machine that is generous to all runs is 0 for each, also where people score all runs alike."""
    people = np.vstack((PEOPLE, PEOPLE[::-1]))
    for scores in (people, np.tile(PEOPLE[:1], (8, 1))):
        for team in favours(scores + 0.1, scores, [[0], [1, 5], [2, 3]]):
            assert (team.mean, team.adjusted) == (pytest.approx(0), pytest.approx(1))


def test_too_little_to_tell_favour() -> None:
    """One topic, a group without runs, fewer than three runs of others."""
    with pytest.raises(ValueError, match="two topics"):
        favours(PEOPLE[:, :1], PEOPLE[:, :1], [[0]])
    with pytest.raises(ValueError, match="one run"):
        favours(PEOPLE, PEOPLE, [[]])
    with pytest.raises(ValueError, match="3 runs of others"):
        favours(PEOPLE, PEOPLE, [[0, 2]])


def test_machines_that_know_no_team_favour_none() -> None:
    """Two fifths of grades raised at random: hardly any of 20 boards; lifted by .076: 19 of 20 at least."""
    world = combined.of_teams()
    blind = combined.moving(0.4, "up")
    random = np.random.default_rng(1)
    said = [combined.flagged(world, blind, "nDCG@10", 0.2, random) for _ in range(20)]
    assert np.any(said, axis=1).sum() == 0
    lifting = combined.lifting(10, 0.27)
    said = [combined.flagged(world, lifting, "nDCG@10", 0.2, random)[10] for _ in range(20)]
    assert np.sum(said) >= 19


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
