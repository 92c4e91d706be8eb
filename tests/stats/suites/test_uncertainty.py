"""What differences over members are worth: worked examples, the site's own tests where they are the same."""

import numpy as np
import pytest
from scipy import stats

from leaderboard.stats.pairs.methods import all_pairs, method
from leaderboard.stats.suites import (
    Drawn,
    bootstrap_ends,
    by_shared_topic,
    change_of_suite,
    compare,
    equal_weights,
    macro_weights,
    resampled_aggregates,
    these_members,
    weighted_mean,
)

A = [[0.5, 0.7, 0.6, 0.8], [0.3, 0.2, 0.4], [0.9, 0.8, 0.7, 0.6, 0.5]]
B = [[0.4, 0.6, 0.6, 0.6], [0.3, 0.3, 0.2], [0.8, 0.8, 0.6, 0.5, 0.5]]
MEMBERS = [np.array(pair) for pair in zip(A, B, strict=True)]
THIRDS = equal_weights(3)
O_B, O_A = np.array([0.4, 0.2, 0.6, 0.3]), np.array([0.5, 0.3, 0.6, 0.4])
R_B, R_A = np.array([0.3, 0.1, 0.5, 0.2, 0.4]), np.array([0.35, 0.1, 0.6, 0.25, 0.4])


def some(runs: int = 5, members: int = 3, topics: int = 12) -> list[np.ndarray]:
    """Members of random scores."""
    return list(np.random.default_rng(7).random((members, runs, topics)))


def test_worked_example_of_these_members() -> None:
    """D, SE, degrees of freedom, t, p and interval."""
    made = compare(MEMBERS, THIRDS, "topics")
    table = made.table
    numbers = [
        float(one[0]) for one in (table.difference, made.error, made.t, table.p, table.low, table.high)
    ]
    assert numbers == pytest.approx([0.064444, 0.033407, 1.929, 0.142805, -0.037761, 0.166650], abs=6e-5)
    assert numbers[3] == pytest.approx(0.142805, abs=5e-7)
    assert made.freedom[0] == pytest.approx(3.227, abs=5e-4)


def test_worked_example_of_members_like_these() -> None:
    """The t test over the members' means."""
    made = compare(MEMBERS, THIRDS, "members")
    table = made.table
    numbers = [float(one[0]) for one in (made.error, table.p, table.low, table.high)]
    assert numbers == pytest.approx([0.019373, 0.079713, -0.018910, 0.147799], abs=5e-7)
    assert (made.t[0], made.freedom[0]) == pytest.approx((3.327, 2), abs=5e-4)


def test_pooled_topics_would_claim_too_much() -> None:
    """All topics as one set give p .0246: no such answer is given here."""
    assert stats.ttest_rel(np.concatenate(A), np.concatenate(B)).pvalue == pytest.approx(0.0246, abs=5e-5)


def test_one_member_is_the_paired_t() -> None:
    """With one member all ways that draw topics are the site's own test."""
    (scores,) = some(members=1)
    own = all_pairs(scores, method("t+holm"), seed=0)
    topics = [[str(topic) for topic in range(scores.shape[1])]]
    for drawn in ("topics", "shared topics"):
        table = compare([scores], np.ones(1), drawn, topics).table
        assert table.p == pytest.approx(own.p, rel=1e-9)
        assert table.adjusted == pytest.approx(own.adjusted, rel=1e-9)
        assert table.low == pytest.approx(own.low, rel=1e-9)


def test_shared_topics_are_drawn_once() -> None:
    """The topic is the unit: the paired t of the weighted sums, which is not that of independent topics."""
    members = some()
    weights = macro_weights(["x", "x", "y"])
    topics = [[str(topic) for topic in range(12)]] * 3
    summed = sum(weight * scores for weight, scores in zip(weights, members, strict=True))
    shared = compare(members, weights, "shared topics", topics)
    first, second = np.triu_indices(5, 1)
    oracle = stats.ttest_rel(summed[first], summed[second], axis=1)
    assert shared.table.p == pytest.approx(oracle.pvalue, rel=1e-9)
    assert not np.allclose(shared.table.p, compare(members, weights, "topics").table.p)


def test_topics_that_some_members_lack_keep_the_aggregate() -> None:
    """The mean of the weighted sums is the aggregate, whatever topics are shared, in any order."""
    members = [np.array([[0.2, 0.4, 0.9]]), np.array([[0.6, 0.8]])]
    scores = by_shared_topic(members, np.array([0.5, 0.5]), [["1", "2", "3"], ["2", "1"]])
    assert scores.mean() == pytest.approx(0.5 * 0.5 + 0.5 * 0.7)


def test_differences_are_those_of_the_aggregate() -> None:
    """By every weight and way, to the last digits."""
    members = some()
    weights = macro_weights(["x", "x", "y"])
    means = weighted_mean(np.column_stack([scores.mean(axis=1) for scores in members]), weights)
    first, second = np.triu_indices(5, 1)
    topics = [[str(topic) for topic in range(12)]] * 3
    for drawn in ("topics", "shared topics"):
        table = compare(members, weights, drawn, topics).table
        assert table.difference == pytest.approx(means[first] - means[second], abs=1e-12)


def test_what_nothing_is_known_of_has_p_1() -> None:
    """A member of one topic; equal runs; a difference that is the same everywhere has p 0."""
    one = these_members([np.array([[0.5], [0.4]]), MEMBERS[0]], equal_weights(2))
    assert (one.table.p[0], one.freedom[0], one.table.high[0]) == (1, 0, np.inf)
    assert not one.table.reachable
    equal = these_members([np.array([A[0], A[0]])], np.ones(1))
    assert (equal.table.p[0], equal.t[0]) == (1, 0)
    shifted = these_members([np.array([A[0], [score - 0.1 for score in A[0]]])], np.ones(1))
    assert shifted.table.p[0] == 0
    assert shifted.table.low[0] == pytest.approx(shifted.table.high[0])


def test_what_makes_no_sense_is_refused() -> None:
    """A member without topics; members like these of unequal weights."""
    with pytest.raises(ValueError, match="without topics"):
        these_members([np.empty((2, 0))], np.ones(1))
    with pytest.raises(ValueError, match="equal weights"):
        compare(MEMBERS, macro_weights(["x", "x", "y"]), "members")


@pytest.mark.parametrize("drawn", ["topics", "members", "shared topics"])
def test_resamples_spread_as_the_standard_error_says(drawn: Drawn) -> None:
    """But for the divisor; members drawn anew bring the noise of their topics along besides."""
    members = some(runs=3, members=8, topics=40)
    topics = [[str(topic) for topic in range(40)]] * 8
    weights = equal_weights(8)
    drawn_means = resampled_aggregates(members, weights, drawn, topics, seed=1, resamples=4000)
    variance = compare(members, weights, drawn, topics).error ** 2
    if drawn == "members":
        variance = variance * 7 / 8 + compare(members, weights, "topics").error ** 2
    spread = (drawn_means[0] - drawn_means[1:]).std(axis=1)
    assert spread == pytest.approx(np.sqrt(variance[:2]), rel=0.08)
    low, high = bootstrap_ends(drawn_means)
    assert (low < high).all()
    again = resampled_aggregates(members, weights, drawn, topics, seed=1, resamples=4000)
    assert (again == drawn_means).all()


def test_resamples_are_at_least_one() -> None:
    """None say nothing."""
    with pytest.raises(ValueError, match="0 resamples"):
        resampled_aggregates(MEMBERS, THIRDS, "topics", seed=1, resamples=0)


def test_worked_changes() -> None:
    """RI, DRI, ER, RC and p of a, and of the baseline, which has DRI 0 and no ER."""
    one, base = change_of_suite(O_A, R_A, (O_B, R_B)), change_of_suite(O_B, R_B, (O_B, R_B))
    assert one.effect is not None
    assert base.effect is not None
    effect = [one.effect.ri_original, one.effect.ri_other, one.effect.dri, one.effect.er]
    assert effect == pytest.approx([0.2, 0.133333, 0.066667, 0.533333], abs=5e-7)
    assert [one.original, base.original, one.other, base.other] == pytest.approx([0.45, 0.375, 0.34, 0.3])
    assert [one.rc, base.rc] == pytest.approx([0.244444, 0.2], abs=5e-7)
    assert [base.p, one.p] == pytest.approx([0.516490, 0.349146], abs=5e-7)
    assert one.mean_of_both == pytest.approx(0.395)
    assert (base.effect.dri, base.effect.er) == (0, None)


def test_a_total_loss_is_one() -> None:
    """Where LongEval's code writes 0; without a baseline there is no gain to speak of."""
    lost = change_of_suite(O_A, np.zeros(3))
    assert (lost.rc, lost.effect) == (1, None)
    assert change_of_suite(np.zeros(3), O_A).rc is None
