"""Average precision with the missed relevant documents further down."""

from pathlib import Path

import pytest
from hypothesis import given

from leaderboard.errors import MissingInput
from leaderboard.measures.grammar import parse
from tests.measures.rankings import Topic, drawn, scored
from tests.measures.worked_examples import worked_examples


@given(drawn())
def test_they_are_ap_of_longer_rankings(topic: Topic) -> None:
    """Missed documents appended to the ranking, at once or after all others of a collection of 60."""
    missed = tuple(grade for grade in topic.missed if grade > 0)
    gap = (None,) * (60 - len(topic.ranking) - len(missed))
    judged = scored(topic, collection_size=60)
    following, last = (scored(Topic((*topic.ranking, *between, *missed))) for between in ((), gap))
    assert parse("APnext").compute(judged)[0] == pytest.approx(parse("AP").compute(following)[0], abs=1e-15)
    assert parse("APlast").compute(judged)[0] == pytest.approx(parse("AP").compute(last)[0], abs=1e-15)


def test_a_level_says_what_was_missed() -> None:
    """At level 2 the missed grade 1 is not a relevant document."""
    judged = scored(Topic((2, 0), (1,)))
    assert parse("APnext(rel=2)").compute(judged).tolist() == [1.0]
    assert parse("APnext").compute(judged)[0] == pytest.approx((1 + 2 / 3) / 2, abs=1e-15)


def test_a_collection_smaller_than_the_ranking_is_as_large_as_needed() -> None:
    """The missed documents come after the ranking, whatever size was stated."""
    topic = Topic((1, 0, 0), (1,))
    small, none = scored(topic, collection_size=2), scored(topic)
    assert parse("APlast").compute(small).tolist() == parse("APnext").compute(none).tolist()


def test_the_end_of_an_unknown_collection_is_not_guessed() -> None:
    """Without a collection size there is no smallest value."""
    with pytest.raises(MissingInput, match="number of documents in the collection"):
        parse("APlast").compute(scored(Topic((1,))))


def test_worked_examples_of_lecture_texts(shared_data: Path) -> None:
    """The largest and smallest AP of 20 judged ranks, and how far that of the 20 ranks can be off."""
    cases = worked_examples(shared_data, ("ap_upper_bound", "ap_lower_bound", "ap_bound_error"))
    ranking = [grade == "R" for grade in cases[0]["input"]["ranking"].split()]
    missed = cases[0]["input"]["total_relevant"] - sum(ranking)
    topic = Topic(tuple(map(int, ranking)), (1,) * missed)
    judged = scored(topic, collection_size=cases[0]["input"]["collection_size"])
    score, highest, lowest = (parse(name).compute(judged)[0] for name in ("AP", "APnext", "APlast"))
    values = {case["measure"]: case["expected"] for case in reversed(cases)}
    assert highest == pytest.approx(values["ap_upper_bound"], abs=6e-7)
    assert lowest == pytest.approx(values["ap_lower_bound"], abs=6e-7)
    assert highest - score == pytest.approx(values["ap_bound_error"]["upper_minus_e"], abs=1e-6)
    assert lowest - score == pytest.approx(values["ap_bound_error"]["lower_minus_e"], abs=1e-6)
