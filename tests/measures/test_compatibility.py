"""Compatibility, against the authors' definition."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from leaderboard.measures.grammar import parse
from tests.measures.rankings import Topic, drawn, scored

Ranking = list[int]
"""Numbers of documents, best first."""


def overlap(run: Ranking, ideal: Ranking, p: float, depth: int) -> float:
    """Rank-biased overlap depth by depth, over the weight of all depths."""
    total = weights = 0.0
    for place in range(1, depth + 1):
        weight = p ** (place - 1)
        total += weight * len(set(run[:place]) & set(ideal[:place])) / place
        weights += weight
    return total / weights


def by_definition(topic: Topic, p: float, depth: int, normalize: bool) -> float:
    """The ideal by grade and then by the run's own order, missed documents last; one over the other."""
    run = list(range(len(topic.ranking)))
    grades = {**dict(enumerate(topic.ranking)), **dict(enumerate(topic.missed, start=len(run)))}
    ideal = sorted(
        (document for document in grades if (grades[document] or 0) > 0),
        key=lambda document: -(grades[document] or 0),
    )
    score = overlap(run, ideal, p, depth)
    if not normalize or not ideal:
        return score
    return score / overlap(ideal, ideal, p, depth)


@given(drawn(), st.sampled_from([0.5, 0.8, 0.95]), st.sampled_from([1, 5, 50]), st.booleans())
def test_it_is_the_definition(topic: Topic, p: float, depth: int, normalize: bool) -> None:
    """Counting each document once, where both rankings have it, gives what counting by depth gives."""
    name = f"Compat(p={p},depth={depth},normalize={normalize})"
    score = parse(name).compute(scored(topic))[0]
    assert score == pytest.approx(by_definition(topic, p, depth, normalize), abs=1e-14)


@pytest.mark.parametrize(
    ("name", "score"),
    [("Compat", 0.622924), ("Compat(p=0.8)", 0.501272), ("Compat(p=0.8,normalize=False)", 0.404412)],
)
def test_known_values(name: str, score: float) -> None:
    """Grades 1, 2, none, 2 and one of 1 missed; worked out with the authors' script."""
    assert parse(name).compute(scored(Topic((1, 2, None, 2), (1,))))[0] == pytest.approx(score, abs=5e-7)


def test_a_ranking_is_as_deep_as_the_measure_whatever_its_length() -> None:
    """One relevant document at rank 1 overlaps 1/d at every depth d of three."""
    raw = parse("Compat(p=0.5,depth=3,normalize=False)").compute(scored(Topic((1,))))[0]
    assert raw == pytest.approx((1 + 1 / 4 + 1 / 12) / (1 + 1 / 2 + 1 / 4), abs=1e-15)


def test_documents_of_one_grade_are_ideal_in_any_order() -> None:
    """The ideal follows the run where grades tie, so only a lower grade above a higher one costs."""
    best = parse("Compat").compute(scored(Topic((2, 2, 1, 1)), Topic((2, 1, 2, 1))))
    assert best[0] == 1.0
    assert best[1] < 1.0
