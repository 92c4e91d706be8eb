"""Draws: probabilities that meet the share, and samples that only grow."""

import numpy as np
import pytest

from leaderboard.stats.combined.sample import inclusion, uniform, weights


def test_probabilities_meet_the_share() -> None:
    """Their mean is the share, more weight is never less likely, the ends are .05 and 1."""
    weight = np.concatenate((np.random.default_rng(1).exponential(5, 300), np.zeros(500)))
    for share in (0.05, 0.1, 0.2, 0.5, 1.0):
        probability = inclusion(weight, share)
        assert probability.mean() == pytest.approx(share)
        assert probability.min() >= 0.05
        assert probability.max() <= 1
        assert (np.diff(probability[np.argsort(weight)]) >= 0).all()
    for share in (0.04, 1.01, float("nan")):
        with pytest.raises(ValueError, match="share"):
            inclusion(weight, share)


def test_a_larger_share_contains_the_smaller_sample() -> None:
    """The numbers of documents stay, their probabilities only grow."""
    weight = np.random.default_rng(2).exponential(5, 400)
    number = np.array([uniform(3, "1", f"d{at}") for at in range(400)])
    drawn = [number < inclusion(weight, share) for share in (0.1, 0.2, 0.4)]
    assert (drawn[0] <= drawn[1]).all()
    assert (drawn[1] <= drawn[2]).all()
    assert drawn[2].mean() == pytest.approx(0.4, abs=0.1)


def test_numbers_differ_by_seed_topic_and_document() -> None:
    """No two of these may be the same by a careless joining of their names."""
    numbers = {uniform(1, "1", "1 d"), uniform(1, "1 1", "d"), uniform(11, "", "1 d"), uniform(2, "1", "1 d")}
    assert len(numbers) == 4
    assert all(0 <= number < 1 for number in numbers)


def test_only_the_top_ten_weighs() -> None:
    """Rank 10 counts, rank 11 does not."""
    assert weights(np.array([[10, 11, 0]])) == pytest.approx([1 / np.log2(11), 0, 0])
