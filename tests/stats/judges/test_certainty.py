"""The lower bound of τ, and how well the reference agrees with itself."""

import numpy as np
import pytest

from leaderboard.stats import judges
from leaderboard.stats.judges import at_least, ceiling
from leaderboard.stats.orders.rank_correlation import tau_b
from leaderboard.stats.reliability import split_half

RUN, TOPIC = np.arange(8)[:, None], np.arange(12)[None, :]
REFERENCE = RUN / 16 + (7 * RUN * RUN + 5 * TOPIC * RUN + 3 * TOPIC) % 13 / 20
JUDGE = REFERENCE + (3 * RUN * RUN + 2 * TOPIC * RUN + 9 * TOPIC) % 11 / 20


@pytest.mark.trial
def test_the_bound_is_the_5th_percentile_of_both_boards_on_the_same_topics() -> None:
    """Against a loop of its own, with its own draws: near, as both draw at random."""
    random = np.random.default_rng(1)
    taus = []
    for _ in range(4000):
        drawn = random.integers(12, size=12)
        taus.append(tau_b(REFERENCE[:, drawn].mean(axis=1), JUDGE[:, drawn].mean(axis=1)) or 0.0)
    found = at_least(REFERENCE, JUDGE, seed=3, resamples=4000)
    # With 28 pairs τ has steps of 1/14.
    assert abs(found - np.quantile(taus, 0.05)) <= 1 / 14 + 1e-9


def test_the_same_seed_gives_the_same_number_for_ever() -> None:
    """And the bound lies below the estimate."""
    first = at_least(REFERENCE, JUDGE, seed=5)
    assert first == at_least(REFERENCE, JUDGE, seed=5)
    assert first == pytest.approx(20 / 28)
    estimate = tau_b(REFERENCE.mean(axis=1), JUDGE.mean(axis=1))
    assert estimate is not None
    assert first < estimate


def test_topics_of_which_the_judge_says_nothing_weigh_nothing_for_it() -> None:
    """A judge of six topics, once as it is and once with places: all of them first."""
    part = JUDGE[:, :6]
    short = at_least(REFERENCE, part, range(6), seed=1, resamples=500)
    padded = at_least(REFERENCE, np.hstack((part, np.zeros((8, 6)))), seed=1, resamples=500)
    assert short == padded


def test_taus_do_not_depend_on_how_many_are_held_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nor on memory."""
    whole = judges.resampled_taus(REFERENCE, JUDGE, seed=4, resamples=50)
    monkeypatch.setattr(judges, "_PAIRS_AT_ONCE", 3 * 64)
    assert np.array_equal(judges.resampled_taus(REFERENCE, JUDGE, seed=4, resamples=50), whole)


def test_a_copy_is_certain() -> None:
    """A judge that says what the reference says, on another scale."""
    assert at_least(REFERENCE, 3 * REFERENCE + 1, seed=1, resamples=200) == 1


def test_the_ceiling_is_the_median_of_halves() -> None:
    """None where there is one topic, or none."""
    assert ceiling(REFERENCE, seed=2) == split_half(REFERENCE, seed=2).median
    assert ceiling(REFERENCE[:, :1], seed=2) is None
    assert ceiling(REFERENCE[:, :0], seed=2) is None
