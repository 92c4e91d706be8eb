"""The Ladder: what it tells, and that the known ways to ask for hidden judgments get nothing out of it."""

from itertools import product

import numpy as np
import pytest

from leaderboard.services.evaluations.answers import ladder
from leaderboard.stats.budgets import answer_bits, error_bound, ladder_bound

TOPICS = 50
STEP = 1 / TOPICS
"""The best gain of one topic, by a measure from 0 to 1."""


def test_it_tells_the_best_so_far_in_whole_steps() -> None:
    """Over all short sequences: monotone, multiples of the step, near the best, the same mirrored."""
    grid = [step / 8 for step in range(9)]
    for scores in product(grid, repeat=3):
        told = ladder(scores, 0.25)
        assert told == sorted(told), scores
        assert all(value % 0.25 == 0 for value in told), scores
        for at, value in enumerate(told):
            best = max(scores[: at + 1])
            assert -0.125 <= best - value <= 0.375, scores
        assert ladder([-score for score in scores], 0.25, -1) == [-value for value in told], scores


@pytest.mark.parametrize(("later", "told"), [(0.52, 0.5), (0.5201, 0.52), (0.1, 0.5)])
def test_an_improvement_by_the_step_itself_is_none(later: float, told: float) -> None:
    """More than the step, or nothing; sums of floats that are off in the last place do not count."""
    assert ladder([0.5, later], 0.02) == pytest.approx([0.5, told])


def _reciprocal_means(relevant: np.ndarray, probes: list[list[list[int]]]) -> list[float]:
    """Mean reciprocal ranks of probes, each of which ranks documents for every topic."""
    return [
        float(np.mean([max((relevant[at, doc] / rank for rank, doc in enumerate(ranking, 1)), default=0.0)
                       for at, ranking in enumerate(probe)]))
        for probe in probes
    ]  # fmt: skip


def test_peeling_off_mean_reciprocal_ranks_gives_nothing() -> None:
    """One document of one topic a probe: three decimals show every judgment, the Ladder none."""
    rng = np.random.default_rng(7)
    relevant = (rng.random((TOPICS, 30)) < 0.3).astype(float)
    best = [[int(np.argmax(relevant[at]))] for at in range(TOPICS)]
    plain = [[[doc] if at == 0 else [] for at in range(TOPICS)] for doc in range(30)]
    scores = _reciprocal_means(relevant, [best, *plain])
    read = [round(score, 3) > 0 for score in scores[1:]]
    assert read == [bool(value) for value in relevant[0]], "the attack works without the Ladder"
    assert len(set(ladder(scores, STEP))) == 1


def test_probing_on_top_of_the_best_run_gives_nothing() -> None:
    """Another document first on one topic of a middling run: it gains one topic at most, which is no step."""
    rng = np.random.default_rng(8)
    relevant = (rng.random((TOPICS, 30)) < 0.3).astype(float)
    middling = [[int(np.argmin(relevant[at]))] for at in range(TOPICS)]
    probes = [
        [[doc, *ranking] if at == topic else ranking for at, ranking in enumerate(middling)]
        for topic in range(3)
        for doc in range(30)
    ]
    scores = _reciprocal_means(relevant, [middling, *probes])
    assert len({round(score, 3) for score in scores}) > 1, "the attack works without the Ladder"
    assert len(set(ladder(scores, STEP))) == 1


def test_binary_numbers_of_probes_are_not_told_one_by_one() -> None:
    """A probe at rank 2^i behind fillers writes judgments into one mean: below the best they stay unread."""
    judged = np.random.default_rng(9).integers(0, 2, (30, 5))
    scores = [0.6, *(float(row @ [2.0**-i for i in range(1, 6)]) / TOPICS for row in judged)]
    assert len({round(score, 3) for score in scores[1:]}) > 10, "the attack works without the Ladder"
    assert set(ladder(scores, STEP)) == {0.6}


def test_budgets_grow_with_what_is_told() -> None:
    """More answers, measures and decimals tell more; the Ladder less; more topics bear more."""
    assert answer_bits([5, 5], 2, 3) == pytest.approx(2 * answer_bits([10], 1, 3))
    assert answer_bits([10], 1, 4) > answer_bits([10], 1, 3) > answer_bits([10], 1, 3, 0.05) > 0
    assert answer_bits([10_000], 1, 3, 0.1) < 300, "the Ladder's grows with the logarithm"
    assert error_bound(100, 50) > error_bound(100, 500) > error_bound(10, 500)
    assert ladder_bound(1000, 0.05, 5000) < ladder_bound(1000, 0.05, 500)
    # The formula of docs/statistics.md, solved: put back, its probability is the risk.
    assert ladder_bound(40, 0.1, 300, measures=3) > ladder_bound(40, 0.1, 300)
    error = ladder_bound(40, 0.1, 300) - 0.15
    assert np.exp(-2 * error**2 * 300 + (1 / 0.1 + 2) * np.log(4 * 40 / 0.1) + 1) == pytest.approx(0.05)
