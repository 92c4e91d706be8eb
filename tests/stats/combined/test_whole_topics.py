"""People judged whole topics: estimates, pairs, the guard, and what more topics would show."""

import itertools

import numpy as np
import pytest
from scipy.stats import ttest_1samp

from leaderboard.stats.combined.whole_topics import (
    WholeTopics,
    believed,
    estimates,
    pair_table,
    plan,
    power_with,
    topics_to_judge,
)
from leaderboard.stats.pairs.methods import all_pairs, method

SCORES = WholeTopics(
    people=np.array([[0.5, 0.7, 0.2, 0.4], [0.4, 0.6, 0.1, 0.1], [0.2, 0.6, 0.2, 0.1]]),
    machine=np.array(
        [[0.6, 0.5, 0.8, 0.3, 0.7, 0.4], [0.5, 0.5, 0.6, 0.3, 0.6, 0.2], [0.4, 0.6, 0.5, 0.4, 0.3, 0.2]]
    ),
    judged=np.array([0, 2, 3, 5]),
)
QUANTILE = 3.182446305284263
"""Of Student's t with 3 degrees of freedom, 0.975."""


def test_the_worked_example() -> None:
    """Three runs, four of six topics judged: share, estimates, errors, pairs."""
    share = believed(SCORES)
    assert share == pytest.approx(0.6034482759, rel=0, abs=6e-11)
    made = estimates(SCORES, share)
    assert made.mean == pytest.approx([0.4650862069, 0.3301724138, 0.2900862069], rel=0, abs=6e-11)
    assert made.error == pytest.approx([0.0883146308, 0.1079504040, 0.1025144433], rel=0, abs=6e-11)
    halves = [0.2810565704, 0.3435463645, 0.3262467114]
    assert made.high - made.mean == pytest.approx(halves, rel=0, abs=6e-11)
    table = pair_table(SCORES, share, guard=0)
    errors = [0.0477000675, 0.0708996041, 0.0575722891]
    assert (table.high - table.low) / 2 / QUANTILE == pytest.approx(errors, rel=0, abs=6e-11)


@pytest.mark.parametrize(
    ("share", "means", "errors"),
    [
        (1.0, [0.475, 0.35, 0.3], [0.0493006649, 0.075, 0.0565194165]),
        (0.0, [0.45, 0.3, 0.275], [0.05, 0.075, 0.0629152870]),
    ],
)
def test_the_worked_example_by_other_shares(share: float, means: list[float], errors: list[float]) -> None:
    """All of the machine's scores, and none of them."""
    assert estimates(SCORES, share).mean == pytest.approx(means)
    table = pair_table(SCORES, share, guard=0)
    assert (table.high - table.low) / 2 / QUANTILE == pytest.approx(errors, rel=0, abs=6e-11)


def _drawn(seed: int = 5, topics: int = 30) -> tuple[np.ndarray, np.ndarray]:
    """People's scores of all topics and a machine's that are like them."""
    rng = np.random.default_rng(seed)
    people = np.clip(rng.normal(0.5, 0.2, (6, topics)) + np.linspace(0.2, 0, 6)[:, None], 0, 1)
    return people, people + rng.normal(0.1, 0.1, (6, topics))


def test_with_all_topics_judged_it_is_the_paired_t() -> None:
    """Whatever the machine says then."""
    people, machine = _drawn()
    every = WholeTopics(people, machine, np.arange(30))
    made = estimates(every, 0.7)
    assert made.mean == pytest.approx(people.mean(axis=1))
    for at, row in enumerate(people):
        interval = ttest_1samp(row, 0).confidence_interval()
        assert (made.low[at], made.high[at]) == pytest.approx((interval.low, interval.high))
    table, plain = pair_table(every, 0.7), all_pairs(people, method("t+holm"), seed=1)
    assert table.adjusted == pytest.approx(plain.adjusted)
    assert table.low == pytest.approx(plain.low)


def test_a_share_of_nothing_is_peoples_topics_alone() -> None:
    """Means and p of the judged topics, as if there were no others."""
    people, machine = _drawn()
    judged = np.array([1, 4, 5, 9, 11, 20, 22, 25, 28, 29])
    table = pair_table(WholeTopics(people[:, judged], machine, judged), 0.0)
    assert table.p == pytest.approx(all_pairs(people[:, judged], method("t+holm"), seed=1).p)


def test_over_all_draws_the_estimate_is_right() -> None:
    """The mean over every choice of four of nine topics is people's mean over nine, for any fixed share."""
    people, machine = _drawn(topics=9)
    for share in (0.0, 0.4, 1.0):
        means = [
            estimates(WholeTopics(people[:, drawn], machine, np.array(drawn)), share).mean
            for drawn in itertools.combinations(range(9), 4)
        ]
        assert np.mean(means, axis=0) == pytest.approx(people.mean(axis=1))


def test_a_good_machine_is_believed_and_makes_it_surer() -> None:
    """One that says the same is believed wholly, one that says the opposite not at all."""
    people, machine = _drawn()
    judged = np.arange(0, 30, 3)
    good = WholeTopics(people[:, judged], machine, judged)
    assert 0.5 < believed(good) <= 1
    alone, both = estimates(good, 0.0), estimates(good, believed(good))
    assert (both.error < alone.error).all()
    assert believed(WholeTopics(people[:, judged], 1 - people, judged)) == 0
    assert believed(WholeTopics(people[:, judged], people, judged)) == pytest.approx(1)
    assert believed(WholeTopics(people[:, judged], np.ones((6, 30)), judged)) == 0


def test_runs_that_are_nearly_the_same_are_undecided() -> None:
    """Four topics of difference, all for one run, would have a p near 0; a fifth makes it a finding again."""
    rng = np.random.default_rng(2)
    one = rng.uniform(0.2, 0.8, 12)
    for differing, is_open in ((4, True), (5, False)):
        other = one.copy()
        other[:differing] -= 0.3
        scores = WholeTopics(np.array([one, other]), np.array([one, other]), np.arange(12))
        table = pair_table(scores, 1.0)
        assert (table.p[0] == 1, np.isinf(table.high[0]), table.reachable) == (is_open, is_open, not is_open)
        assert pair_table(scores, 1.0, guard=0).p[0] < 0.06


def test_how_many_topics_more() -> None:
    """The planner's worked numbers, and the same by way of scores."""
    spread = (0.08, 0.12)
    assert topics_to_judge(10, 50, 0.05, spread, level=0.05) == 45
    assert topics_to_judge(10, 50, 0.05, spread, level=0.005) is None
    assert topics_to_judge(10, 50, 0.03, spread, level=0.05) is None
    assert power_with(44, 50, 0.05, spread, level=0.05) < 0.8 <= power_with(45, 50, 0.05, spread, level=0.05)
    people, machine = _drawn()
    judged = np.arange(0, 30, 3)
    scores = WholeTopics(people[:, judged], machine, judged)
    made = plan(scores, 0.5, (0, 5), level=0.05)
    left = (people[0] - people[5])[judged] - 0.5 * (machine[0] - machine[5])[judged]
    apart = float(left.std(ddof=1)), float((people[0] - people[5])[judged].std(ddof=1))
    assert made.difference == pytest.approx(0.5 * (machine[0] - machine[5]).mean() + left.mean())
    assert made.power == pytest.approx(power_with(10, 30, made.difference, apart, level=0.05))
    assert made.needed == topics_to_judge(10, 30, made.difference, apart, level=0.05)


def test_scores_that_do_not_fit_are_refused() -> None:
    """Other runs, more judged topics than there are, or a single one."""
    people, machine = _drawn()
    for bad in (people[:5, :3], people[:, :2]):
        with pytest.raises(ValueError, match="same runs"):
            WholeTopics(bad, machine, np.arange(3))
    with pytest.raises(ValueError, match="two judged"):
        WholeTopics(people[:, :1], machine, np.arange(1))
