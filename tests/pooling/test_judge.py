"""Documents given one at a time, as judgments come in."""

from concurrent.futures import ThreadPoolExecutor
from itertools import permutations

import numpy as np
import pytest

from leaderboard.pooling.methods import METHODS, BoundMethod, Judge, method, start
from tests.pooling.worked import GRADES, RUNS, names

ORDERS = {
    "mtf": ({"name": "mtf"}, "d1 d2 d6 d3 d8 d4 d7 d9 d5"),
    "mm_ns own": ({"name": "mm_ns", "credit": "own"}, "d1 d2 d6 d3 d8 d4 d7 d9 d5"),
    "maxmean": ({"name": "maxmean"}, "d1 d2 d3 d8 d4 d6 d7 d9 d5"),
    "maxmean own": ({"name": "maxmean", "credit": "own"}, "d1 d2 d3 d6 d7 d8 d4 d5 d9"),
    "hedge": ({"name": "hedge"}, "d1 d2 d8 d3 d6 d9 d4 d7 d5"),
}
ADAPTIVE = [
    *({"name": name, **({"credit": credit} if METHODS[name].parameter("credit") else {})}
      for name, known in METHODS.items() if known.adaptive for credit in ("holders", "own")),
    {"name": "staged", "depth": 1, "then": {"name": "hedge"}},
    {"name": "staged", "depth": 1, "then": {"name": "mtf"}},
]  # fmt: skip


def one_by_one(bound: BoundMethod, seed: int = 1) -> list[int]:
    """The order in which one assessor is given all documents."""
    judge, judged = start(bound, RUNS, seed), dict[int, int]()
    while (document := judge.next(judged)) is not None:
        judged[document] = GRADES[document]
    return list(judged)


@pytest.mark.parametrize(("spec", "expected"), ORDERS.values(), ids=ORDERS)
def test_worked_orders(spec: dict[str, object], expected: str) -> None:
    """Each worked by hand on the three runs."""
    assert names(one_by_one(method(spec))) == expected


@pytest.mark.parametrize("spec", ADAPTIVE, ids=str)
def test_a_new_judge_goes_on_where_another_was(spec: dict[str, object]) -> None:
    """After a restart only the judgments are left, and they are enough; nothing is given twice."""
    bound = method(spec)
    whole = one_by_one(bound)
    assert sorted(whole) == list(range(9))
    judged: dict[int, int] = {}
    while (document := start(bound, RUNS, 1).next(judged)) is not None:
        judged[document] = GRADES[document]
    assert list(judged) == whole
    assert start(bound, RUNS, 1).order(GRADES).tolist() == whole


@pytest.mark.parametrize("spec", ADAPTIVE, ids=str)
def test_the_next_document_depends_on_the_judgments_alone(spec: dict[str, object]) -> None:
    """Not on the order in which they came, nor on what a judge was asked before."""
    bound = method(spec)
    some = {0: 1, 3: 0, 8: 1, 6: 0}
    used = start(bound, RUNS, 1)
    given = set()
    for order in list(permutations(some))[::5]:
        used.next({order[0]: 1 - some[order[0]]})
        judged = {document: some[document] for document in order}
        given |= {used.next(judged), start(bound, RUNS, 1).next(judged)}
    assert len(given) == 1


def test_a_judgment_that_is_taken_back_is_as_if_never_made() -> None:
    """Move-to-front leaves A after d1 was not relevant, and stays with it once that is undone."""
    judge = start(method({"name": "mtf"}), RUNS)
    assert names([judge.next({0: 0})]) == "d2"
    assert names([judge.next({0: 0, 1: 1})]) == "d6"
    assert names([judge.next({0: 1})]) == "d2"
    assert names([judge.next({})]) == "d1"


def test_documents_before_another_assessor_are_passed_over() -> None:
    """A grade of -1: not given, nothing learnt, nothing spent of the budget."""
    for spec in ADAPTIVE:
        judge = start(method(spec), RUNS, 1, budget=1)
        first = judge.next({})
        assert first is not None
        second = judge.next({first: -1})
        assert second not in (None, first)
        assert judge.next({first: 0}) is None
        assert judge.next(dict.fromkeys(range(9), -1)) is None


def test_the_level_says_what_is_relevant() -> None:
    """Grade 1 is a miss at level 2: move-to-front leaves the run."""
    judge = start(method({"name": "mtf"}), RUNS)
    judged = {0: 2, 1: 1}
    assert names([judge.next(judged, 1), judge.next(judged, 2)]) == "d3 d6"


def test_documents_outside_the_candidates_teach_nothing() -> None:
    """Judgments that were there before may be of any document."""
    judge = start(method({"name": "hedge", "budget": 1}), RUNS)
    assert names([judge.next({77: 1, 9: 0})]) == "d1"


def test_stages_share_what_was_learnt() -> None:
    """After d1 d2 d8, the tops, hedge goes on from all three judgments, as it would had it chosen them."""
    bound = method({"name": "staged", "depth": 1, "then": {"name": "hedge"}, "budget": 4})
    judge = start(bound, RUNS)
    assert names(start(bound, RUNS).order(GRADES)[:3]) == "d1 d2 d8"
    judged = {document: GRADES[document] for document in (0, 1, 7)}
    assert judge.next(judged) == start(method({"name": "hedge"}), RUNS).next(judged)
    assert judge.next({**judged, 2: 0}) is None


def test_move_to_front_is_the_forgetful_bandit() -> None:
    """On any runs, where only the pulled run is credited."""
    random = np.random.default_rng(3)
    for _ in range(20):
        runs = [random.permutation(40)[: random.integers(0, 30)] for _ in range(6)]
        relevant = dict(enumerate((random.random(40) < 0.3).astype(int).tolist()))
        first, second = (
            start(method(spec), runs).order(relevant).tolist()
            for spec in ({"name": "mtf"}, {"name": "mm_ns", "credit": "own"})
        )
        assert first == second


@pytest.mark.parametrize("spec", ADAPTIVE, ids=str)
def test_several_threads_may_ask(spec: dict[str, object]) -> None:
    """Each with judgments of its own: all get what they would get alone."""
    bound = method(spec)
    whole = one_by_one(bound)
    asked = [{document: GRADES[document] for document in whole[:count]} for count in range(9)] * 20
    judge = start(bound, RUNS, 1)
    with ThreadPoolExecutor(8) as threads:
        assert list(threads.map(judge.next, asked)) == whole * 20


def test_judges_are_the_same_on_every_machine() -> None:
    """Thompson's order by its seed is written down; another seed gives another."""
    bound = method({"name": "thompson"})
    assert names(one_by_one(bound)) == "d2 d1 d3 d8 d6 d7 d9 d4 d5"
    assert any(one_by_one(bound, seed) != one_by_one(bound) for seed in range(2, 5))


def test_a_judge_of_a_fixed_order_goes_through_it() -> None:
    """Whatever the judgments were; to its end."""
    judge = start(method({"name": "take", "budget": 3}), RUNS)
    assert isinstance(judge, Judge)
    assert names([judge.next({}), judge.next({0: 0}), judge.next({0: 1, 1: 1})]) == "d1 d2 d8"
    assert judge.next({0: 1, 1: 1, 7: 0}) is None
