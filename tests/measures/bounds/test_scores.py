"""Lowest and highest possible scores, against every way to judge the unjudged documents."""

import itertools
import math
from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from leaderboard.measures.grammar import parse
from tests.measures.rankings import Topic, drawn, scored

SMALL = st.builds(
    Topic,
    st.lists(st.sampled_from([None, None, -1, 0, 0, 1, 2, -2]), max_size=8).map(tuple),
    st.lists(st.sampled_from([-1, 0, 1, 2]), max_size=2).map(tuple),
)
"""Topics with few enough unjudged documents to judge them in every way."""


def judged_in_every_way(topic: Topic, grades: range) -> Iterator[Topic]:
    """The topic with each of its unjudged documents, retrieved or pooled, given every grade."""
    documents = (*topic.ranking, *topic.missed)
    choices = [grades if grade in (None, -1) else (grade,) for grade in documents]
    for given_grades in itertools.product(*choices):
        length = len(topic.ranking)
        yield Topic(given_grades[:length], given_grades[length:])


def extremes(name: str, topic: Topic, grades: range) -> tuple[float, float]:
    """The smallest and the largest score of all ways."""
    scores = parse(name).compute(scored(*judged_in_every_way(topic, grades)))
    return float(scores.min()), float(scores.max())


@given(SMALL, st.sampled_from(["", "@2", "@5"]), st.sampled_from([1, 2]))
def test_binary_measures_reach_their_bounds(topic: Topic, at: str, rel: int) -> None:
    """No way to judge gives less or more, and some way gives just that."""
    judged = scored(topic)
    for name, depth in (("AP", at), ("RR", at), ("P", at or "@8")):
        low, high = extremes(f"{name}(rel={rel}){depth}", topic, range(0, 3, 2))
        lowest = f"{name}min" if name == "AP" else name
        assert parse(f"{lowest}(rel={rel}){depth}").compute(judged)[0] == pytest.approx(low, abs=1e-12), name
        highest = parse(f"{name}max(rel={rel}){depth}").compute(judged)[0]
        assert highest == pytest.approx(high, abs=1e-12), name


FEWER = SMALL.filter(lambda topic: sum(grade in (None, -1) for grade in (*topic.ranking, *topic.missed)) <= 5)


@given(FEWER, st.sampled_from(["", "@2", "@5"]), st.sampled_from(["log2", "exp-log2"]))
def test_ndcg_reaches_its_bounds(topic: Topic, at: str, dcg: str) -> None:
    """With grades from 0 to 3 for all unjudged documents; the judged ones have up to 2."""
    low, high = extremes(f"nDCG(dcg={dcg!r}){at}", topic, range(4))
    judged = scored(topic)
    lowest = parse(f"nDCGmin(max_rel=3,dcg={dcg!r}){at}").compute(judged)[0]
    highest = parse(f"nDCGmax(max_rel=3,dcg={dcg!r}){at}").compute(judged)[0]
    assert (lowest, highest) == (pytest.approx(low, abs=1e-12), pytest.approx(high, abs=1e-12))


def average_precision(relevant: list[bool], total: int) -> float:
    """The definition."""
    hits_above = itertools.accumulate(relevant)
    precisions = [so_far / rank for rank, so_far in enumerate(hits_above, start=1) if relevant[rank - 1]]
    return math.fsum(precisions) / total if total else 0.0


@pytest.mark.parametrize("unjudged", [0.02, 0.3, 0.9])
def test_long_rankings_have_the_bounds_of_a_search(unjudged: float) -> None:
    """Of the n lowest or highest unjudged documents, for every n, on 400 ranks: 13 digits agree."""
    choices = (1, 0, 0, 0)
    ranking = tuple(
        None if (rank * 0.618034) % 1 < unjudged else choices[rank * rank % 11 % 4] for rank in range(1, 401)
    )
    known = [grade == 1 for grade in ranking]
    places = [place for place, grade in enumerate(ranking) if grade is None]

    def score(some: list[int], missed: int) -> float:
        relevant = [is_relevant or place in some for place, is_relevant in enumerate(known)]
        return average_precision(relevant, sum(relevant) + missed)

    numbers = range(len(places) + 1)
    judged = scored(Topic(ranking, (1, -1, -1, 0)))
    lowest = min(score(places[len(places) - number :], 3) for number in numbers)
    highest = max(score(places[:number], 1) for number in numbers)
    assert parse("APmin").compute(judged)[0] == pytest.approx(lowest, rel=1e-13)
    assert parse("APmax").compute(judged)[0] == pytest.approx(highest, rel=1e-13)


def test_known_bounds() -> None:
    """Relevant, unjudged, not, relevant, unjudged, not, one relevant missed: from 0.5 to 0.71."""
    judged = scored(Topic((1, None, 0, 1, None, 0), (1,)))
    assert parse("APmin").compute(judged)[0] == pytest.approx(0.5, abs=1e-15)
    assert parse("APmax").compute(judged)[0] == pytest.approx(0.71, abs=1e-15)


def test_taking_all_unjudged_as_relevant_or_not_is_not_the_bound() -> None:
    """The lowest is below both, since a relevant document at the end adds less than its share."""
    judged = scored(Topic((1, None, *[0] * 7, None)))
    none = parse("AP").compute(judged)[0]
    both = parse("AP").compute(scored(Topic((1, 1, *[0] * 7, 1))))[0]
    assert parse("APmin").compute(judged)[0] < min(none, both)


@given(drawn())
def test_bounds_enclose_the_score_and_meet_it_where_all_is_judged(topic: Topic) -> None:
    """Lowest and highest lie around each score, and are the very same double without unjudged documents."""
    complete = Topic(
        tuple(0 if grade is None else max(grade, 0) for grade in topic.ranking),
        tuple(max(grade, 0) for grade in topic.missed),
    )
    for name, bound in (("AP", ""), ("AP@4", ""), ("nDCG", "(max_rel=4)"), ("nDCG@4", "(max_rel=4)")):
        base, _, at = name.partition("@")
        at = f"@{at}" if at else ""
        for one in (topic, complete):
            judged = scored(one)
            low = parse(f"{base}min{bound}{at}").compute(judged)[0]
            high = parse(f"{base}max{bound}{at}").compute(judged)[0]
            score = parse(name).compute(judged)[0]
            assert low <= score <= high
        assert low == score == high
