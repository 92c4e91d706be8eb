"""Whom a machine favours, and what more judging would show."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import ttest_1samp

from benchmarks import combined
from leaderboard.stats.combined.labels import FloatArray, Labels, gain_of, relevant_from
from leaderboard.stats.combined.measures import dcg, discounts
from leaderboard.stats.combined.planning import Contrast, favours, plan, variances
from leaderboard.stats.reliability import power, topics_needed
from tests.stats.combined.example import LABELS, RANKINGS

IS_RELEVANT = relevant_from(1)


def _labels(machine: list[int], people: list[int], chance: list[float], *, topics: int = 2) -> Labels:
    """Labels of documents in equal parts of topics."""
    return Labels(
        topic=np.repeat(np.arange(topics), len(machine) // topics),
        machine=np.array(machine),
        people=np.array(people),
        probability=np.array(chance),
        topics=topics,
    )


def _made(random: np.random.Generator, *, runs: int) -> tuple[Labels, FloatArray]:
    """Twelve topics of 25 documents, about half of them judged, which count at random in runs."""
    people = random.integers(0, 3, size=300)
    machine = np.minimum(people + (random.random(300) < 0.3), 2)
    chance = random.uniform(0.2, 0.9, size=300)
    drawn = np.where(random.random(300) < chance, people, -1)
    labels = Labels(np.repeat(np.arange(12), 25), machine, drawn, chance, 12)
    return labels, random.random((runs, int((drawn >= 0).sum()))) ** 3


def test_favour_is_what_others_do_not_get_for_such_documents() -> None:
    """By hand: no document is relevant, each counts .25 in all runs together; half are the fourth run's."""
    placed = np.array(
        [[0, 0, 1, 1, 0, 0, 1, 1], [0] * 8, [0] * 8, [1, 1, 0, 0, 1, 1, 0, 0]], dtype=np.float64
    )
    labels = _labels([1, 1, 0, 0, 1, 0, 0, 0], [0] * 8, [1] * 4 + [0.5] * 4)
    (fourth,) = favours(labels, IS_RELEVANT, placed, [[3]])
    # Its documents count half more than the mean, others half less; the machine's labels less their mean of
    # 3/8 times that add to 1 and 1/2 on the topics. The squares of the halves add to 2, in the pool to 3.
    assert fourth is not None
    assert fourth.mean == pytest.approx(1.5 * (1 + 0.5) / 2, rel=0, abs=1e-12)
    ends = 1.125 - 12.7062 * 0.375, 1.125 + 12.7062 * 0.375
    assert (fourth.low, fourth.high) == pytest.approx(ends, abs=1e-4)
    assert fourth.p == pytest.approx(1 - 2 / np.pi * np.arctan(3), rel=1e-12)
    assert not fourth.is_favoured


def test_favour_by_least_squares() -> None:
    """Equal to what NumPy's solver leaves of all grades and their lines at once, tested by SciPy."""
    labels, placed = _made(np.random.default_rng(5), runs=9)
    judged = labels.is_judged
    own = placed[4:6].mean(axis=0)
    raised = labels.machine.copy()
    raised[np.flatnonzero(judged)[own > 0.5]] = 2
    labels = replace(labels, machine=raised)
    groups = [[0, 8], [4, 5], [7]]
    grades = (labels.people[judged] == np.arange(3)[:, None]).astype(np.float64)
    known = np.vstack((grades, grades * placed.mean(axis=0))).T
    topic, chance = labels.topic[judged], labels.probability[judged]
    for group, found in zip(groups, favours(labels, gain_of, placed, groups), strict=True):
        both = np.stack((gain_of(raised[judged]), placed[group].mean(axis=0)), axis=1)
        worth, own = (both - known @ np.linalg.lstsq(known, both)[0]).T
        by_topic = np.bincount(topic, weights=worth * own) * (own**2 / chance).sum() / (own**2).sum()
        tested = ttest_1samp(by_topic, 0)
        assert found is not None
        assert (found.mean, found.p) == pytest.approx((by_topic.mean(), tested.pvalue), rel=1e-9)
        interval = tested.confidence_interval(0.95)
        assert (found.low, found.high) == pytest.approx(tuple(interval), rel=1e-9)
        assert found.is_favoured == (group == [4, 5])


def test_what_gives_all_alike_favours_nobody() -> None:
    """Right labels, or a grade more for everything, are 0 for each; runs all alike tell nothing."""
    labels, placed = _made(np.random.default_rng(6), runs=5)
    people = np.where(labels.is_judged, labels.people, 0)
    for machine in (people, people + 1):
        for team in favours(replace(labels, machine=machine), gain_of, placed, [[0], [1, 4]]):
            assert team is not None
            assert (team.mean, team.adjusted) == (pytest.approx(0), pytest.approx(1))
    alike = np.tile(placed[:1], (5, 1))
    assert favours(labels, gain_of, alike, [[0], [1, 4]]) == (None, None)
    one = np.vstack((alike, placed[1:2]))
    assert [team is None for team in favours(labels, gain_of, one, [[0], [5]])] == [False, False]


def test_too_little_to_tell_favour() -> None:
    """One topic, a group without runs, fewer than three runs of others."""
    labels, placed = _made(np.random.default_rng(7), runs=4)
    with pytest.raises(ValueError, match="two topics"):
        favours(_labels([1, 0], [0, 0], [1, 1], topics=1), gain_of, placed[:, :2], [[0]])
    with pytest.raises(ValueError, match="one run"):
        favours(labels, gain_of, placed, [[]])
    with pytest.raises(ValueError, match="3 runs of others"):
        favours(labels, gain_of, placed, [[0, 2]])


@pytest.mark.trial
@pytest.mark.parametrize("how", ["up", "down", "popular up"])
def test_machines_that_know_no_team_favour_none(how: str) -> None:
    """Hardly any of 25 boards by P@10, whichever way they err, even by how many runs have a document."""
    world, random = combined.of_teams(), np.random.default_rng(1)
    said = [combined.flagged(world, combined.moving(0.4, how), "P@10", 0.2, random) for _ in range(25)]
    assert np.any(said, axis=1).sum() <= 3


def test_the_weakest_team_is_seen_to_be_favoured() -> None:
    """A lift of .076 by P@10, where people judge a fifth: of 25 boards 20 at least."""
    world, random = combined.of_teams(), np.random.default_rng(1)
    lifting = combined.lifting_by(world, 19, "P@10")
    said = [combined.flagged(world, lifting, "P@10", 0.2, random)[19] for _ in range(25)]
    assert np.sum(said) >= 20


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
