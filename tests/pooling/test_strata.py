"""Stratified samples."""

import numpy as np
import pytest

from leaderboard.pooling.methods import method, pool, stratified_sample
from tests.pooling.worked import RUNS, names


def test_strata_keep_what_estimates_need() -> None:
    """RRF ranks d1 d2, then d3 d6 d8 d9, of which half are drawn; the three below are left out."""
    pooled = pool(method({"name": "stratified", "strata": "2:1,6:0.5"}), RUNS, seed=1)
    assert names(pooled.documents[:2]) == "d1 d2"
    assert pooled.stratum.tolist() == [0, 0, 1, 1]
    assert pooled.probability.tolist() == [1.0, 1.0, 0.5, 0.5]
    assert pooled.population.tolist() == [2, 4]
    assert sorted(names(np.concatenate((pooled.documents, pooled.passed))).split()) == [
        "d1", "d2", "d3", "d6", "d8", "d9"
    ]  # fmt: skip
    assert pooled.passed_stratum.tolist() == [1, 1]


def test_probability_is_the_share_that_was_drawn() -> None:
    """0.3 of 4 is 1, so each had a chance of 1/4; of a stratum at least one is drawn."""
    sample = stratified_sample(5, ((1, 0.01), (5, 0.3)), seed=1)
    assert sample.probability.tolist() == [1.0, 0.25]
    assert len(sample.place) == 2
    assert stratified_sample(0, ((1, 1.0),), seed=1).population.tolist() == [0]


def test_a_first_stage_is_a_stratum_of_its_own() -> None:
    """Depth 1 is judged wholly, and a sample drawn of what RRF ranks below."""
    spec = {"name": "staged", "depth": 1, "then": {"name": "stratified", "strata": "2:1,6:0.5"}}
    pooled = pool(method(spec), RUNS, seed=1)
    assert names(pooled.documents[:5]) == "d1 d2 d8 d3 d6"
    assert pooled.stratum.tolist() == [0, 0, 0, 1, 1, 2, 2]
    assert pooled.population.tolist() == [3, 2, 4]
    assert pooled.passed_stratum.tolist() == [2, 2]


def test_every_document_is_drawn_as_often() -> None:
    """Two of four, over all seeds from 0 to 599: 300 times each, give or take four standard errors."""
    drawn = np.bincount(
        np.concatenate([stratified_sample(4, ((4, 0.5),), seed).place for seed in range(600)])
    )
    assert (abs(drawn - 300) < 4 * (600 * 0.25) ** 0.5).all()


def test_a_budget_would_spoil_the_sample() -> None:
    """Cut short, documents would no longer have the probabilities that are written down."""
    with pytest.raises(ValueError, match="the rates of a sample set its size"):
        pool(method({"name": "stratified"}), RUNS, budget=3)
