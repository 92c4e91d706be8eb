"""trec_eval's measures with parameters the compiled oracle cannot be asked for, against plain loops."""

from collections.abc import Callable
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from leaderboard.errors import MissingInput, UnknownMeasure
from leaderboard.measures.binding import BoundMeasure, bind
from leaderboard.measures.grammar import parse
from leaderboard.measures.registry import NAMES
from leaderboard.measures.richer_examples import judged
from tests.measures import trec_eval_loops as loops
from tests.measures.rankings import Topic, drawn, scored

TOPICS = st.lists(drawn(), min_size=1, max_size=5)
QUARTERS = st.integers(0, 24).map(lambda quarters: quarters / 4)
"""Gains that add up without rounding, so that the order of additions does not matter."""
GAINS = st.dictionaries(st.integers(0, 4), QUARTERS, max_size=4)


def with_gains(name: str, gains: dict[int, float]) -> BoundMeasure:
    """The measure with those gains, if any."""
    return bind(NAMES[name], {"gains": tuple(sorted(gains.items()))} if gains else {})


@pytest.mark.parametrize(
    ("name", "loop"), [("nDCG", loops.ndcg), ("nDCGrel", loops.ndcg_rel), ("G", loops.g)]
)
@given(topics=TOPICS, gains=GAINS)
def test_gains_give_the_same_doubles_as_a_loop(
    name: str, loop: Callable[[loops.Gain], float], topics: list[Topic], gains: dict[int, float]
) -> None:
    """nDCG, nDCG at relevant documents and G, with any gains of grades, the ideal in their true order."""
    scores = with_gains(name, gains).compute(scored(*topics)).tolist()
    assert scores == [loop(loops.gain_of(topic, gains)) for topic in topics]


@given(topics=TOPICS, gains=GAINS, level=st.integers(1, 4))
def test_ndcg_where_the_gain_changes_equals_a_loop(
    topics: list[Topic], gains: dict[int, float], level: int
) -> None:
    """Also with equal gains of different grades, short runs, and a level no document of a topic has."""
    given_gains = {"gains": tuple(sorted(gains.items()))} if gains else {}
    scores = bind(NAMES["RnDCG"], {"rel": level, **given_gains}).compute(scored(*topics)).tolist()
    relevant = [
        sum(grade is not None and grade >= level for grade in (*topic.ranking, *topic.missed))
        for topic in topics
    ]
    expected = [
        loops.rndcg(loops.gain_of(topic, gains), count) for topic, count in zip(topics, relevant, strict=True)
    ]
    assert scores == expected


@given(topics=TOPICS, p=st.sampled_from([0.01, 0.5, 0.8, 0.9, 0.95, 0.9999]))
def test_trec_eval_10s_rank_biased_precision_equals_a_loop(topics: list[Topic], p: float) -> None:
    """Both rbp and its residual, to the last bit, for short and long persistence."""
    run = scored(*topics)
    assert parse(f"RBPtrec(p={p})").compute(run).tolist() == [loops.rbp(topic, p) for topic in topics]
    residual = parse(f"RBPtrecResid(p={p})").compute(run).tolist()
    assert residual == [loops.rbp_residual(topic, p) for topic in topics]


@pytest.mark.parametrize("p", [0.5, 0.9, 0.98])
@pytest.mark.parametrize("judged_prefix", [0, 1, 40, 600])
def test_the_residual_of_long_rankings_is_the_same_double(p: float, judged_prefix: int) -> None:
    """Ranks whose weight no longer changes any sum are left out without a trace."""
    ranking = (0,) * judged_prefix + (None, 1, None, None, -2, 0, None) * 300
    topic = Topic(ranking)
    scores = parse(f"RBPtrecResid(p={p})").compute(scored(topic, Topic((1,)), topic)).tolist()
    assert scores == [loops.rbp_residual(topic, p), 0.0, loops.rbp_residual(topic, p)]


def test_the_residual_of_many_topics_is_each_ones_own() -> None:
    """More topics than are laid out at a time, some of them without a ranking."""
    topics = [Topic((None,) * (place % 7) + (1,) * (place % 3)) for place in range(200)]
    scores = parse("RBPtrecResid").compute(scored(*topics)).tolist()
    assert scores == [loops.rbp_residual(topic, 0.9) for topic in topics]


@given(topics=TOPICS, cutoff=st.integers(1, 40))
def test_the_share_of_unjudged_documents_equals_a_loop(topics: list[Topic], cutoff: int) -> None:
    """Unj@k divides by k, and counts negative grades, Judged@k does neither."""
    scores = parse(f"Unj@{cutoff}").compute(scored(*topics)).tolist()
    assert scores == [loops.unjudged_share(topic, cutoff) for topic in topics]


@pytest.mark.parametrize("dialect", [9, 10])
@given(topics=TOPICS, recall=st.sampled_from([0.0, 0.1, 0.25, 0.5, 0.7, 0.9, 1.0]))
def test_interpolated_precision_equals_a_loop(dialect: int, topics: list[Topic], recall: float) -> None:
    """In both dialects' way of counting what a recall needs."""
    run = replace(scored(*topics), dialect=dialect)
    scores = parse(f"IPrec@{recall}").compute(run).tolist()
    assert scores == [loops.interpolated(topic, recall, dialect) for topic in topics]


@pytest.mark.parametrize(("dialect", "expected"), [(9, 1 / 5), (10, 1.0)])
def test_the_dialects_differ_where_a_recall_needs_a_fraction(dialect: int, expected: float) -> None:
    """0.7 of 2 is 1.4 documents: two of them in trec_eval 9, one in trec_eval 10."""
    run = judged({1: 1, 10: 1}, dialect=dialect)
    assert parse("IPrec@0.7").compute(run).tolist() == [expected]


def test_utility_of_what_was_not_retrieved_needs_the_size_of_the_collection() -> None:
    """Two relevant and 8 other documents, one of each retrieved: 1, -1, 1 and 7 of the four kinds."""
    hits = {1: 1, 2: 0}
    bound = parse("Utility(p1=5,p2=-2,p3=-1,p4=0.5)")
    assert bound.compute(judged(hits, missed=[1], collection_size=10)).tolist() == [5 - 2 - 1 + 3.5]
    with pytest.raises(MissingInput, match="number of documents in the collection"):
        bound.compute(judged(hits, missed=[1]))


def test_gains_of_negative_grades_are_refused() -> None:
    """A document that is pooled or junk gains nothing, whatever is written."""
    with pytest.raises(UnknownMeasure, match="of grades from 0 up"):
        parse("nDCG(gains={-1:2})")


def test_gains_less_than_1_apart_are_in_their_true_order() -> None:
    """0.9 before 0.5 in the ideal ranking: a run that has them so is perfect."""
    scores = parse("nDCG(gains={1:0.9,2:0.5})").compute(judged({1: 1, 2: 2}))
    assert scores.tolist() == [1.0]


@given(topics=TOPICS, cutoff=st.integers(1, 40))
def test_a_relevance_string_has_a_character_for_every_rank(topics: list[Topic], cutoff: int) -> None:
    """Grades as digits, - and . for what is not judged, as long as the ranking is or the cut-off."""
    characters = {None: "-", -2: ".", -1: "."}
    expected = [
        "".join(characters.get(grade, str(grade)) for grade in topic.ranking[:cutoff]) for topic in topics
    ]
    assert parse(f"RelString@{cutoff}").compute(scored(*topics)).tolist() == expected


def test_a_grade_above_9_is_a_bracket() -> None:
    """One character per document, whatever the scale."""
    assert parse("RelString@3").compute(judged({1: 9, 2: 10, 3: 500})).tolist() == ["9>>"]


def test_f_has_trec_evals_square_to_the_last_bit() -> None:
    """set_F_2 is computed with 2, not with the square of the square root of 2."""
    run = judged({1: 1}, missed=[1, 1], retrieved=7)
    precision, recall = 1 / 7, 1 / 3
    assert parse("set_F_2").compute(run).tolist() == [3.0 * precision * recall / (2.0 * precision + recall)]


def test_geometric_means_count_a_zero_as_a_hundred_thousandth() -> None:
    """A perfect topic and a hopeless one: the square root of 1 · 0.00001."""
    run = scored(Topic((1,)), Topic((0,), (1,)))
    for name in ("GMAP", "GMBpref"):
        assert parse(name).compute(run).tolist() == [1.0, 0.0]
        assert parse(name).aggregate(parse(name).compute(run)) == pytest.approx(1e-5**0.5, abs=1e-15)
