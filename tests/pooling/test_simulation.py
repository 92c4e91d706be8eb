"""Methods against judgments that are all there."""

import numpy as np
import pytest

from benchmarks.pooling import METHODS, made_up, simulated
from leaderboard.pooling.methods import method
from leaderboard.pooling.simulation import area, judged_after, judging_order, recall
from tests.pooling.worked import GRADES, RUNS, names


def test_a_simulation_is_the_order_of_judging() -> None:
    """For methods that wait for judgments and those that do not, whatever the budget."""
    hedge = judging_order(method({"name": "hedge", "budget": 2}), RUNS, GRADES)
    assert names(hedge) == "d1 d2 d8 d3 d6 d9 d4 d7 d5"
    take = judging_order(method({"name": "take", "budget": 2}), RUNS, GRADES)
    assert names(take) == "d1 d2 d8 d9 d3 d6 d4 d5 d7"


@pytest.mark.parametrize("name", ["take", "hedge", "mtf", "maxmean"])
def test_documents_without_a_judgment_are_passed_over(name: str) -> None:
    """Judgments of d1, d6 and d8, and one of a document no run has."""
    order = judging_order(method({"name": name}), RUNS, {0: 1, 5: 1, 7: 0, 1: -1, 30: 1})
    assert sorted(order.tolist()) == [0, 5, 7]


def test_recall_by_share_of_the_judging() -> None:
    """Four documents: the first judged and the third are relevant."""
    after = judged_after(np.array([3, 1, 0, 2]), np.arange(4))
    assert after.tolist() == [0.75, 0.5, 1.0, 0.25]
    relevant = np.array([True, False, False, True])
    assert recall(after, relevant, np.array([0.2, 0.25, 0.5, 0.75])).tolist() == [0.0, 0.5, 0.5, 1.0]
    assert area(after, relevant) == pytest.approx(0.5, abs=0.01)
    assert recall(after, ~np.ones(4, dtype=np.bool_), np.array([1.0])).tolist() == [0.0]


@pytest.mark.trial
def test_methods_compare_as_in_the_literature() -> None:
    """Hedge finds most and orders runs best; bandits find as much as fusion but order runs worse."""
    topics = made_up(60, 10, 60, seed=4)
    names = ("take@N", "RRF", "MTF", "MaxMean, all holders", "Hedge", "random")
    take, rrf, mtf, maxmean, hedge, random = (simulated(method(METHODS[name]), topics, 20) for name in names)
    assert hedge.area > maxmean.area > take.area > random.area
    assert hedge.area > rrf.area > take.area
    assert maxmean.area > rrf.area
    assert min(hedge.tau_ap[0], rrf.tau_ap[0]) > max(maxmean.tau_ap[0], mtf.tau_ap[0])
    assert 0.4 < random.area < 0.6
