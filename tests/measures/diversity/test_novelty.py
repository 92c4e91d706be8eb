"""Measures of subtopics: definitions once more, ndeval's numbers, and what sets them apart."""

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from leaderboard.errors import MissingInput
from leaderboard.measures.grammar import parse
from leaderboard.measures.richer_examples import covering, judged
from tests.make.loops import for_every
from tests.measures import diverse
from tests.measures.diverse import Diverse, drawn, scored

ALPHAS = st.sampled_from([0.0, 0.25, 0.5, 1.0])
"""All sums of their powers are exact, so that ties are ties whatever the order of additions."""
CUTOFFS = st.sampled_from([1, 2, 3, 5, 20, 1000])
RELS = st.sampled_from([1, 2])

SEVEN = Diverse(
    {
        "a": {"1": 1}, "b": {"1": 1, "2": 1}, "c": {"2": 1, "3": 1}, "d": {"3": 1},
        "e": {"1": 1, "4": 1}, "f": {"5": 0}, "g": {"1": 1, "2": 1},
    },
    tuple("xbagfce"),
)  # fmt: skip
"""Seven judged documents of four subtopics; no document is relevant to a fifth. x was not judged."""

NAMES = (
    "alpha_nDCG", "alpha_nDCG@5", "alpha_nDCG(rel=2,alpha=0.9)@3", "alpha_DCG@5", "ERR_IA@5", "nERR_IA",
    "nERR_IA(alpha=0)@5", "NRBP", "NRBP(alpha=0.2,beta=0.9)", "nNRBP", "StRecall", "StRecall(rel=2)@3",
    "P_IA@5", "AP_IA", "AP_IA(rel=2)", "nDCG_IA", "nDCG_IA@3", "D_nDCG", "D_nDCG@3", "DSharp_nDCG@5",
    "alpha_nDCG(judged_only=True)@5", "DSharp_nDCG(gamma=0.2,judged_only=True)",
)  # fmt: skip


def score(name: str, topic: Diverse) -> float:
    """The measure's score of one topic."""
    return float(parse(name).compute(scored(topic))[0])


@pytest.mark.parametrize("name", ["alpha_DCG", "alpha_nDCG", "ERR_IA", "nERR_IA"])
@given(topic=drawn(), rel=RELS, alpha=ALPHAS, cutoff=CUTOFFS)
def test_novelty_by_rank_is_the_definition(
    name: str, topic: Diverse, rel: int, alpha: float, cutoff: int
) -> None:
    """Document by document, with the ideal ranking built one document at a time."""
    expected = diverse.by_definition(topic, name, rel, alpha, cutoff)
    assert score(f"{name}(rel={rel},alpha={alpha})@{cutoff}", topic) == pytest.approx(expected, abs=1e-13)


@pytest.mark.parametrize("name", ["NRBP", "nNRBP"])
@given(topic=drawn(), rel=RELS, alpha=ALPHAS, beta=st.sampled_from([0.0, 0.5, 0.9]))
def test_rank_biased_novelty_is_the_definition(
    name: str, topic: Diverse, rel: int, alpha: float, beta: float
) -> None:
    """Document by document, over all ranks."""
    expected = diverse.biased(topic, name, rel, alpha, beta)
    assert score(f"{name}(rel={rel},alpha={alpha},beta={beta})", topic) == pytest.approx(expected, abs=1e-13)


@given(topic=drawn(), rel=RELS, cutoff=CUTOFFS)
def test_means_over_subtopics_are_the_definition(topic: Diverse, rel: int, cutoff: int) -> None:
    """Every subtopic scored by itself."""
    for name, level in (
        (f"P_IA(rel={rel})@{cutoff}", rel),
        (f"AP_IA(rel={rel})", rel),
        (f"nDCG_IA@{cutoff}", 1),
    ):
        expected = diverse.mean_of_subtopics(topic, parse(name).measure.name, level, cutoff)
        assert score(name, topic) == pytest.approx(expected, abs=1e-13), name


@given(topic=drawn(), rel=RELS, cutoff=CUTOFFS)
def test_coverage_and_d_measures_are_the_definition(topic: Diverse, rel: int, cutoff: int) -> None:
    """Subtopic recall, the gain of all subtopics together, and both weighed."""
    assert score(f"StRecall(rel={rel})@{cutoff}", topic) == diverse.subtopic_recall(topic, rel, cutoff)
    together, recall = diverse.d_ndcg(topic, cutoff), diverse.subtopic_recall(topic, 1, cutoff)
    assert score(f"D_nDCG@{cutoff}", topic) == pytest.approx(together, abs=1e-13)
    weighed = 0.3 * recall + 0.7 * together
    assert score(f"DSharp_nDCG(gamma=0.3)@{cutoff}", topic) == pytest.approx(weighed, abs=1e-13)


@pytest.mark.parametrize(
    ("name", "half", "third"),
    [
        ("ERR_IA({})@3", 0.21875000000000003, 0.20374449339207049),
        ("ERR_IA({})@20", 0.31075910755500685, 0.2865117067219652),
        ("nERR_IA({})@3", 0.35897435897435903, 0.36097560975609755),
        ("nERR_IA({})@20", 0.49293376468585054, 0.5107823114560902),
        ("alpha_DCG({})@3", 0.2623909009354843, 0.2389142258821937),
        ("alpha_DCG({})@20", 0.43115240844816416, 0.36841104398412483),
        ("alpha_nDCG({})@3", 0.409009226105499, 0.4109181376466778),
        ("alpha_nDCG({})@20", 0.6398379092199705, 0.6549238275004169),
        ("NRBP({},beta={})", 0.2391357421875, 0.3263486056424999),
        ("nNRBP({},beta={})", 0.39575757575757575, 0.5582717941138594),
    ],
)
def test_scores_are_those_of_ndeval(name: str, half: float, third: float) -> None:
    """ndeval 4.5 with -alpha 0.5 -beta 0.5, and with -alpha 0.3 -beta 0.7, in full doubles."""
    assert score(name.format("alpha=0.5", 0.5), SEVEN) == pytest.approx(half, abs=1e-15)
    assert score(name.format("alpha=0.3", 0.7), SEVEN) == pytest.approx(third, abs=1e-15)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("P_IA@3", 0.25),
        ("P_IA@20", 0.1125),
        ("StRecall@3", 0.5),
        ("StRecall", 1.0),
        ("AP_IA", 0.3370535714285714),
    ],
)
def test_means_are_those_of_ndeval(name: str, value: float) -> None:
    """To the last bit."""
    assert score(name, SEVEN) == value


def test_the_first_rank_is_divided_too() -> None:
    """Both subtopics at rank 1 is all there can be: 1, where ndeval's ERR-IA@1 is 2."""
    run = covering({1: (1, 2)})
    assert parse("ERR_IA@1").compute(run).tolist() == [1.0]
    assert parse("alpha_DCG@1").compute(run).tolist() == [1.0]


def test_there_is_no_cut_off_at_20() -> None:
    """A second subtopic at rank 21 counts at 21 and below."""
    run = covering({1: (1,), 21: (2,)})
    assert parse("alpha_nDCG@20").compute(run)[0] < parse("alpha_nDCG@21").compute(run)[0]
    assert parse("alpha_nDCG@21").compute(run)[0] == pytest.approx(
        (1 + 1 / math.log2(22)) / (1 + 1 / math.log2(3))
    )


def test_a_ranking_can_be_better_than_the_greedy_one() -> None:
    """Greed takes the greatest docno first, after which no document covers the other two subtopics."""
    documents = {"c": {"2": 1, "3": 1}, "a": {"1": 1, "2": 1}, "b": {"3": 1, "4": 1}}
    best = score("alpha_nDCG@2", Diverse(documents, ("a", "b")))
    assert best == pytest.approx((2 + 2 / math.log2(3)) / (2 + 1.5 / math.log2(3)))
    assert 1 < best <= parse("alpha_nDCG").measure.range[1]
    renamed = {"0": documents["c"], "a": documents["a"], "b": documents["b"]}
    assert score("alpha_nDCG@2", Diverse(renamed, ("a", "b"))) == pytest.approx(1)


@given(drawn(), st.sampled_from(["alpha_nDCG@5", "nERR_IA@5", "nNRBP", "alpha_nDCG(alpha=0.3)"]))
def test_no_ranking_beats_the_greedy_one_by_much(topic: Diverse, name: str) -> None:
    """The bound that a range states for the measures that divide by a greedy ranking."""
    assert 0 <= score(name, topic) <= parse(name).measure.range[1]


def test_subtopics_that_no_document_is_relevant_to_do_not_count() -> None:
    """A subtopic all of whose documents have grade 0, or one below the level, changes nothing."""
    two, three = covering({1: (1,), 2: (2,)}), covering({1: (1,), 2: {2: 1, 3: 0}})
    for name in ("alpha_nDCG@5", "alpha_DCG@5", "ERR_IA@5", "NRBP", "StRecall", "P_IA@5", "AP_IA", "nDCG_IA"):
        assert parse(name).compute(two).tolist() == parse(name).compute(three).tolist(), name
    graded = covering({1: {1: 2}}, missed=[{2: 1}])
    assert parse("StRecall").compute(graded).tolist() == [0.5]
    assert parse("StRecall(rel=2)").compute(graded).tolist() == [1.0]


@for_every("name", NAMES)
def test_a_topic_without_a_relevant_document_scores_0(name: str) -> None:
    """Whether its subtopics have judgments or it has no subtopic."""
    assert parse(name).compute(covering({1: {1: 0}, 2: {1: -1}})).tolist() == [0.0]
    assert parse(name).compute(covering({1: ()}, missed=[()])).tolist() == [0.0]


@given(topics=st.lists(drawn(), min_size=1, max_size=4))
@settings(max_examples=20)
@for_every("name", NAMES)
def test_a_topic_scores_alike_alone_and_among_others(name: str, topics: list[Diverse]) -> None:
    """The same double, within the measure's range."""
    bound = parse(name)
    together = bound.compute(scored(*topics)).tolist()
    assert together == [bound.compute(scored(topic)).tolist()[0] for topic in topics]
    low, high = bound.measure.range
    assert all(low <= score_of_topic <= high + 1e-12 for score_of_topic in together)


def test_judged_documents_close_up_without_the_others() -> None:
    """With judged_only, an unjudged document at rank 1 does not push the others down."""
    run = covering({2: (1,), 4: (2,)}, retrieved=4)
    assert parse("ERR_IA(judged_only=True)@4").compute(run).tolist() == [
        parse("ERR_IA@4").compute(covering({1: (1,), 2: (2,)}))[0]
    ]


def test_graded_judgments_alone_are_not_enough() -> None:
    """The error names what is missing."""
    with pytest.raises(MissingInput, match="alpha_nDCG@10 needs subtopic judgments"):
        parse("alpha_nDCG@10").compute(judged({1: 1}))
