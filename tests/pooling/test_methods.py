"""Pools by every method that does not wait for judgments."""

import numpy as np
import pytest

from leaderboard.pooling.methods import METHODS, method, pool, start
from tests.pooling.worked import GRADES, RUNS, SCORES, indices, names, priorities

SPECS: dict[str, dict[str, object]] = {
    **{name: {"name": name} for name in METHODS},
    "depth": {"name": "depth", "depth": 100},
    "priority": {"name": "priority", "depth": 100, "priorities": [1, 2, 3]},
    "staged": {"name": "staged", "depth": 2, "then": {"name": "rrf"}},
}


def pooled(spec: dict[str, object], **options: int) -> str:
    """The documents in judging order."""
    return names(pool(method(spec), RUNS, scores=SCORES, **options).documents)


def test_depth_pools_are_the_tops_of_all_runs() -> None:
    """By the best rank any run gives, ties by document."""
    assert pooled({"name": "depth", "depth": 2}) == "d1 d2 d8 d9"
    assert pooled({"name": "depth", "depth": 3}) == "d1 d2 d8 d9 d3 d6"


def test_take_goes_rank_by_rank_over_the_runs() -> None:
    """It stops in the middle of a rank; at one rank, runs come in stored order."""
    assert pooled({"name": "take", "budget": 5}) == "d1 d2 d8 d9 d3"
    assert names(pool(method({"name": "take"}), RUNS[::-1], budget=2).documents) == "d8 d2"


def test_fair_take_lets_every_run_add_as_many() -> None:
    """B's second document is in the pool, so B adds its third."""
    assert pooled({"name": "fair_take", "budget": 6}) == "d1 d2 d8 d3 d6 d9"


def test_priorities_put_some_runs_first_and_leave_others_out() -> None:
    """C's top three, then what B adds; A's documents come in by other runs or not at all."""
    spec = {"name": "priority", "depth": 3, "priorities": [0, 2, 1]}
    assert pooled(spec) == "d8 d9 d1 d2 d6"
    with pytest.raises(ValueError, match="2 priorities for 3 runs"):
        pooled({**spec, "priorities": "1,2"})


def test_borda_points() -> None:
    """Nine candidates: first place is 9 points, and what a run has not ranked shares 4 + 3 + 2 + 1."""
    assert priorities(pool(method({"name": "borda"}), RUNS), 6) == {
        "d1": 24, "d2": 22, "d3": 15.5, "d6": 15.5, "d8": 14, "d9": 13, "d4": 11, "d5": 10, "d7": 10
    }  # fmt: skip


def test_reciprocal_rank_fusion() -> None:
    """1/61 + 1/62 + 1/63 for d1; d3 and d6 are tied and go by document."""
    selected = priorities(pool(method({"name": "rrf"}), RUNS), 6)
    assert list(selected)[:4] == ["d1", "d2", "d3", "d6"]
    assert (selected["d1"], selected["d2"], selected["d3"], selected["d6"]) == (
        0.048395,
        0.047907,
        0.031498,
        0.031498,
    )


def test_comb_mnz() -> None:
    """Scores 5 to 1 scale to 1, .75, .5, .25, 0; d1 has 2.25 from three runs."""
    selected = priorities(pool(method({"name": "combmnz"}), RUNS, scores=SCORES), 6)
    assert (selected["d1"], selected["d2"], selected["d3"], selected["d6"]) == (6.75, 5.25, 1.5, 1.5)
    with pytest.raises(ValueError, match="needs the scores of the runs"):
        pool(method({"name": "combmnz"}), RUNS)
    with pytest.raises(ValueError, match="a score for every document"):
        pool(method({"name": "combmnz"}), RUNS, scores=SCORES[:2])


def test_scores_that_are_all_the_same_count_fully() -> None:
    """There is no range to scale by, and the run has found the documents all the same."""
    selected = pool(method({"name": "combmnz"}), [indices("d2 d1")], scores=[np.array([3.0, 3.0])])
    assert selected.priority.tolist() == [1.0, 1.0]


def test_dcg_and_rbp_weights() -> None:
    """1 + 1/log2(3) + 1/2 for d1; persistence .8 gives d8, first of one run, 0.2."""
    dcg = priorities(pool(method({"name": "dcg"}), RUNS), 6)
    assert (dcg["d1"], dcg["d2"], dcg["d8"]) == (2.130930, 2.017783, 1.0)
    rbp = priorities(pool(method({"name": "rbp"}), RUNS), 6)
    assert (rbp["d8"], rbp["d1"]) == (0.2, 0.488)


def test_ties_do_not_hang_on_the_order_of_additions() -> None:
    """Both documents have ranks 1, 2, 3 and 7, in other runs: equal in truth, not in the last bit."""
    runs = [
        indices(docnos) for docnos in ("d1 d2", "d3 d1 d2", "d4 d5 d1 d6 d7 d8 d2", "d2 d9 d3 d4 d5 d6 d1")
    ]
    for name in ("rrf", "dcg", "rbp"):
        both = [names(pool(method({"name": name}), order).documents)[:5] for order in (runs, runs[::-1])]
        assert both == ["d1 d2", "d1 d2"], name


def test_small_priorities_are_no_ties() -> None:
    """Deep ranks weigh next to nothing, and still count one after the other."""
    ranking = indices(" ".join(f"d{number}" for number in range(60, 0, -1)))
    for spec in ({"name": "rbp", "p": 0.4}, {"name": "rrf", "k": 1_000_000}):
        assert pool(method(spec), [ranking]).documents.tolist() == ranking.tolist()


def test_staged_pools_finish_the_first_stage_first() -> None:
    """Depth 1 is d1 d2 d8; then RRF's order up to five in all; the strata say which stage it was."""
    selected = pool(method({"name": "staged", "depth": 1, "then": {"name": "rrf"}, "budget": 5}), RUNS)
    assert names(selected.documents) == "d1 d2 d8 d3 d6"
    assert selected.stratum.tolist() == [0, 0, 0, 1, 1]
    assert selected.population.tolist() == [3, 2]


@pytest.mark.parametrize("name", METHODS)
def test_every_method_gives_each_candidate_once(name: str) -> None:
    """With room for all of them; in the order of the live judge where nothing depends on judgments."""
    bound = method({**SPECS[name], **({"strata": "100:1"} if name == "stratified" else {})})
    selected = pool(bound, RUNS, scores=SCORES)
    assert sorted(selected.documents.tolist()) == list(range(9))
    assert {len(column) for column in selected[:4]} == {9}
    assert selected.population.sum() == 9
    live = start(bound, RUNS, 0, scores=SCORES).order(GRADES)
    assert sorted(live.tolist()) == list(range(9))
    assert bound.adaptive or live.tolist() == selected.documents.tolist()


@pytest.mark.parametrize("name", METHODS)
def test_topics_that_no_run_or_only_some_runs_have(name: str) -> None:
    """Nothing is pooled of nothing; an empty ranking stands for a run without the topic."""
    bound = method({**SPECS[name], **({"priorities": [1]} if name == "priority" else {})})
    empty = np.empty(0, dtype=np.int64)
    assert len(pool(bound, [empty], scores=[np.empty(0)]).documents) == 0
    assert start(bound, [empty], scores=[np.empty(0)]).next({}) is None
    if name != "priority":
        two = [empty, indices("d3 d2")]
        scores = [np.empty(0), np.array([2.0, 1.0])]
        assert sorted(pool(bound, two, scores=scores).documents.tolist()) == [1, 2]
        assert start(bound, two, scores=scores).next({}) in (1, 2)
        assert len(pool(bound, [], scores=[]).documents) == 0


@pytest.mark.parametrize("name", [name for name in METHODS if name not in ("stratified", "random")])
def test_a_pool_does_not_depend_on_how_docnos_are_numbered(name: str) -> None:
    """Indices with gaps, as in a list of all documents of a topic, give the same documents."""
    runs = [10 * run + 7 for run in RUNS]
    few, many = (pool(method(SPECS[name]), rankings, scores=SCORES) for rankings in (RUNS, runs))
    assert many.documents.tolist() == (10 * few.documents + 7).tolist()
    assert many.priority.tolist() == few.priority.tolist()


def test_only_the_top_ranks_are_candidates() -> None:
    """What lies below a method's depth is not there for it."""
    assert sorted(pooled({"name": "rrf", "depth": 1}).split()) == ["d1", "d2", "d8"]
    assert method({"name": "staged", "depth": 3, "then": {"name": "rrf", "depth": 2}}).reach == 3


def test_random_orders_are_the_same_for_ever() -> None:
    """By the raw integers of PCG64; another seed gives another order."""
    assert pooled({"name": "random"}, seed=1) == "d3 d5 d8 d6 d1 d9 d7 d4 d2"
    assert pooled({"name": "random"}, seed=2) != pooled({"name": "random"}, seed=1)


def test_budgets_are_whole_numbers_from_one() -> None:
    """The call's budget replaces that of the spec; none below 1."""
    assert pooled({"name": "take", "budget": 2}, budget=3) == "d1 d2 d8"
    with pytest.raises(ValueError, match="of at least 1, not 0"):
        pooled({"name": "take"}, budget=0)


def test_adaptive_pools_hold_all_that_may_be_judged() -> None:
    """The budget limits the judging, not the documents it may come to."""
    bound = method({"name": "hedge", "budget": 2})
    assert len(pool(bound, RUNS).documents) == 9
    judge = start(bound, RUNS)
    assert judge.next({0: 1}) is not None
    assert judge.next({0: 1, 1: 0}) is None
