"""Scores under ties: closed forms against every order, drawn orders, and counts."""

from collections.abc import Sequence
from itertools import chain, permutations, product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from leaderboard.errors import MissingInput, UnknownMeasure
from leaderboard.measures.grammar import parse
from leaderboard.measures.judged import FloatArray
from leaderboard.measures.registry import MEASURES
from leaderboard.measures.ties import effects
from leaderboard.measures.ties.effects import SAMPLES, UNORDERED, Tied
from leaderboard.measures.ties.expectations import EXPECTED
from tests.make.loops import some
from tests.measures.rankings import Grades, Topic, scored

CLOSED = (
    "P@3", "P(rel=2)@4", "RelP@3", "R@3", "F@3", "FAlpha@3", "Rprec", "Rprec(mult=0.5)", "BreakEven",
    "Success@1", "Success@3", "RR", "RR@2", "AP", "AP@4", "AP(rel=2)", "GMAP", "P(judged_only=True)@2",
    "nDCG", "nDCG@3", "nDCG(dcg='exp-ln')@4", "nDCG(gains={0:2,1:1})@3", "nDCG(ideal='retrieved')@3",
    "DCG@3", "DCG(dcg='jk')", "CG@2", "RBP(p=0.5)", "RBP@3", "gRBP(max_rel=3,p=0.5)@4",
    "AP(judged_only=True)", "nDCG(judged_only=True)@3", "SetP", "NumRelRet",
)  # fmt: skip
"""Measures whose numbers are those of all orders."""
DRAWN = ("Bpref", "ERR(max_rel=3)@3", "IPrec@0.5", "SearchLength")

Groups = Sequence[Sequence[int | None]]
"""A ranking as groups of equal score, each the grades of its documents, None for one not judged."""

groups_drawn = st.lists(
    st.lists(st.none() | st.integers(-1, 3), min_size=1, max_size=4).map(tuple), max_size=4
).filter(lambda groups: sum(map(len, groups)) <= 8)


def tied(*topics: Groups, missed: Grades = ()) -> Tied:
    """A run whose rankings are these groups, in the order they are written."""
    topic = np.repeat(np.arange(len(topics)), [sum(map(len, groups)) for groups in topics])
    score = [-float(place) for groups in topics for place, group in enumerate(groups) for _ in group]
    equal = effects.tie_groups(topic, np.array(score))
    left = tuple(grade for grade in missed if grade is not None)
    return effects.tied(scored(*(Topic(tuple(chain(*groups)), left) for groups in topics)), equal)


def every_order(groups: Groups, key: str, missed: Grades = ()) -> FloatArray:
    """The score of every order of a topic's ties, (orders,)."""
    measure = parse(key)
    left = tuple(grade for grade in missed if grade is not None)
    orders = product(*(permutations(group) for group in groups))
    return np.array([measure.compute(scored(Topic(tuple(chain(*order)), left)))[0] for order in orders])


@pytest.mark.parametrize("key", some(CLOSED, CLOSED[::3]))
@settings(max_examples=30, deadline=None)
@given(groups=groups_drawn, missed=st.lists(st.integers(0, 3), max_size=2))
def test_closed_forms_are_the_mean_and_the_ends_of_all_orders(
    key: str, groups: Groups, missed: list[int]
) -> None:
    """Every permutation of every group is scored."""
    effect = effects.effect(tied(groups, missed=missed), key)
    scores = every_order(groups, key, missed)
    assert effect.exact
    assert effect.error.tolist() == [0.0]
    assert effect.samples == 0
    assert effect.lowest[0] == pytest.approx(scores.min(), abs=1e-12)
    assert effect.expected[0] == pytest.approx(scores.mean(), abs=1e-12)
    assert effect.highest[0] == pytest.approx(scores.max(), abs=1e-12)


@pytest.mark.parametrize("key", DRAWN)
@settings(max_examples=10, deadline=None)
@given(groups=groups_drawn, missed=st.lists(st.integers(0, 3), max_size=2))
def test_drawn_orders_stay_within_all_orders_and_near_their_mean(
    key: str, groups: Groups, missed: list[int]
) -> None:
    """Where no closed form is known orders are drawn, and the two by grade are the ends."""
    effect = effects.effect(tied((*groups, (0, 0)), missed=missed), key)
    scores = every_order((*groups, (0, 0)), key, missed)
    assert not effect.exact
    assert effect.samples == SAMPLES
    assert effect.lowest[0] == pytest.approx(scores.min(), abs=1e-12)
    assert effect.highest[0] == pytest.approx(scores.max(), abs=1e-12)
    # A share of all orders below 1/100 may not be met at all, then the error is not known either.
    assert abs(effect.expected[0] - scores.mean()) <= 5 * effect.error[0] + 0.05
    assert effect.lowest[0] <= effect.expected[0] <= effect.highest[0]


def test_ties_above_and_at_the_cut_off_are_worked_by_hand() -> None:
    """Two of four at ranks 2 to 5 are relevant: P@3 has one of (0, 1, 2) of them with 1/6, 4/6, 1/6."""
    effect = effects.effect(tied([(0,), (1, 0, None, 1), (1,)]), "P@3")
    assert effect.lowest.tolist() == [0.0]
    assert effect.expected.tolist() == [pytest.approx(1 / 3)]
    assert effect.highest.tolist() == [pytest.approx(2 / 3)]
    success = effects.effect(tied([(0,), (1, 0, None, 1), (1,)]), "Success@3")
    assert success.expected.tolist() == [pytest.approx(5 / 6)]


def test_topics_do_not_mix() -> None:
    """A topic's numbers are the same in company and alone, and a topic without ranking scores 0."""
    one, other = [(0, 2), (1, None, 0)], [(1,), (0, 1, 1)]
    together = effects.effect(tied(one, [], other), "AP")
    alone = [effects.effect(tied(ranking), "AP").expected[0] for ranking in (one, other)]
    assert together.expected.tolist() == [alone[0], 0.0, alone[1]]


@pytest.mark.parametrize("key", ["AP", "Bpref", "nDCG@2", "Success@1", "RR"])
def test_without_ties_every_number_is_the_score(key: str) -> None:
    """To the last bit, and nothing is drawn."""
    ties = tied([(1,), (0,), (2,)], [(0,), (1,)])
    scores = parse(key).compute(ties.judged).tolist()
    effect = effects.effect(ties, key)
    assert (effect.exact, effect.samples) == (True, 0)
    assert effect.lowest.tolist() == effect.expected.tolist() == effect.highest.tolist() == scores


def test_ties_among_equal_grades_move_nothing() -> None:
    """Where every order has the same score the expected one is that score to the last bit."""
    ties = tied([(1, 1, 1), (0, 0, None), (2, 2)])
    for key in ("AP", "nDCG", "Bpref", "RBP"):
        effect = effects.effect(ties, key)
        assert effect.lowest.tolist() == effect.expected.tolist() == effect.highest.tolist()
        assert effect.error.tolist() == [0.0]


def test_drawn_orders_are_the_same_for_the_same_seed() -> None:
    """And others for another one."""
    ties = tied([(1, 0, None, 2, 0, 1, 0, 3)])
    first, again, other = (effects.effect(ties, "Bpref", seed=seed).expected[0] for seed in (1, 1, 2))
    assert first == again
    assert first != other


def test_every_named_measure_exists() -> None:
    """The lists of measures with closed forms and of those without an order name real measures."""
    names = {measure.name for measure in MEASURES}
    assert set(EXPECTED) <= names
    assert names >= UNORDERED


def test_what_gives_no_numbers_is_refused() -> None:
    """A measure that is text, one that does not exist, and one whose input ties take away."""
    ties = tied([(1, 0)])
    with pytest.raises(ValueError, match="no numbers"):
        effects.effect(ties, "RelString@5")
    with pytest.raises(UnknownMeasure):
        effects.effect(ties, "nonsense")
    with pytest.raises(MissingInput):
        effects.effect(ties, "Div(max_rel=1)@2")


def test_counts_are_of_all_documents_and_of_chosen_topics() -> None:
    """Unjudged documents are counted too, which no measure sees."""
    ties = tied([(None, None, None), (1, 0)], [(1,)], [(0, None)])
    assert effects.counts(ties) == (2, 7, 3)
    assert effects.counts(ties, np.array([1, 2])) == (1, 2, 2)
    assert effects.counts(tied([(1,), (0,)])) == (0, 0, 0)
    assert effects.counts(tied([], [])) == (0, 0, 0)


@given(st.lists(st.lists(st.sampled_from([1.0, 2.0, 2.5]), max_size=6), min_size=1, max_size=4))
def test_groups_are_found_where_neighbours_are_equal(rankings: list[list[float]]) -> None:
    """As a walk down each ranking finds them."""
    ordered = [sorted(ranking, reverse=True) for ranking in rankings]
    topic = np.repeat(np.arange(len(ordered)), [len(ranking) for ranking in ordered])
    groups = effects.tie_groups(topic, np.array([score for ranking in ordered for score in ranking]))
    walked = [
        (place, ranking.index(score) + 1, ranking.count(score))
        for place, ranking in enumerate(ordered)
        for score in sorted(set(ranking), reverse=True)
        if ranking.count(score) > 1
    ]
    assert (
        list(zip(*(column.tolist() for column in (groups.topic, groups.first, groups.size)), strict=True))
        == walked
    )
