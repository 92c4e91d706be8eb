"""What the measures promise on rankings made for the purpose: bounds, invariances, known pitfalls."""

from collections.abc import Mapping

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from leaderboard.measures.binding import BoundMeasure, with_level
from leaderboard.measures.graded_gain import q_measure
from leaderboard.measures.grammar import parse
from leaderboard.measures.judged import Judged, Judgments
from leaderboard.measures.richer_examples import judged

NAMES = (
    "AP", "AP@3", "AP(rel=2)", "nDCG", "nDCG@3", "P@3", "P(rel=2)@3", "R@3", "RR", "RR@3", "Rprec",
    "Success@3", "Bpref", "Bpref(rel=2)", "SetP", "SetR", "SetF", "SetF(beta=2)", "Judged@3",
    "NumRet", "NumRel", "NumRelRet", "NumNonrelJudgedRet", "NumQ", "Unj@3", "Judged",
    "IPrec@0", "IPrec@0.3", "IPrec@1", "IAP11", "IAP3", "Rprec(mult=0.4)", "Rprec(mult=1.8)", "RelP@3",
    "GMAP", "GMBpref", "infAP", "binG", "G", "nDCGrel", "RnDCG", "nDCG(gains={0:1,1:0.25,3:9})",
    "G(gains={0:1,1:0.25})", "SetAP", "SetP(relative=True)", "Utility", "RBPtrec", "RBPtrecResid",
    "AP(judged_only=True)", "P(judged_only=True)@3", "nDCG(judged_only=True)@3",
)  # fmt: skip
MEASURES = tuple(parse(name) for name in NAMES)
COUNTING_ALL = {
    "SetP", "SetF", "SetAP", "Judged", "NumRet", "Utility", "Unj", "RBPtrecResid", "RnDCG",
}  # fmt: skip
"""Measures that look at how many documents were retrieved, judged or not."""

GRADES = st.integers(-2, 4)
HITS = st.dictionaries(st.integers(1, 40), GRADES, max_size=20)
MISSED = st.lists(GRADES, max_size=10)


def score(name: str, hits: Mapping[int, int], missed: list[int] | None = None) -> float:
    """The measure's score of one topic."""
    return float(parse(name).compute(judged(hits, missed=missed or []))[0])


def several(*topics: Mapping[int, int]) -> Judged:
    """A run of several topics with the given grade at each judged rank, nothing missed."""
    flat = [(place, *hit) for place, hits in enumerate(topics) for hit in sorted(hits.items())]
    topic, rank, grade = np.array(flat, dtype=np.int64).T
    starts = np.cumsum([0, *map(len, topics)])
    judgments = Judgments(tuple(map(str, range(len(topics)))), grade, starts)
    return Judged(judgments, topic, rank, np.arange(len(rank)), np.array([max(hits) for hits in topics]))


@given(HITS, MISSED)
def test_scores_stay_within_their_range(hits: dict[int, int], missed: list[int]) -> None:
    """No ranking scores outside the range its measure states."""
    for measure in MEASURES:
        low, high = measure.measure.range
        assert low <= measure.compute(judged(hits, missed=missed))[0] <= high + 1e-12, measure.key


@given(HITS, MISSED, st.integers(41, 500))
def test_an_unjudged_tail_changes_no_ranked_measure(
    hits: dict[int, int], missed: list[int], retrieved: int
) -> None:
    """Unjudged documents below the last judged one change nothing but what divides by their number."""
    for measure in MEASURES:
        if measure.measure.name not in COUNTING_ALL:
            short, long = judged(hits, missed=missed), judged(hits, missed=missed, retrieved=retrieved)
            assert measure.compute(short).tolist() == measure.compute(long).tolist(), measure.key


@given(st.lists(HITS.filter(bool), min_size=1, max_size=4))
def test_a_topics_score_does_not_depend_on_the_others(topics: list[dict[int, int]]) -> None:
    """Scored together or one by one, each topic has the same double."""
    together = several(*topics)
    for measure in MEASURES:
        alone = [float(measure.compute(judged(hits))[0]) for hits in topics]
        assert measure.compute(together).tolist() == alone, measure.key


@given(st.lists(st.integers(0, 4), min_size=1, max_size=20).filter(any))
def test_the_ideal_ranking_scores_one(grades: list[int]) -> None:
    """All judged documents in descending order of grade: nDCG, AP, Rprec, RR and Bpref are 1."""
    best = dict(enumerate(sorted(grades, reverse=True), start=1))
    for name in ("nDCG", "nDCG@3", "AP", "Rprec", "RR", "Bpref", "SetR"):
        assert score(name, best) == pytest.approx(1.0, abs=1e-12), name


@given(HITS, MISSED)
def test_moving_a_relevant_document_up_never_lowers_a_score(hits: dict[int, int], missed: list[int]) -> None:
    """Swapping a document with a lower-graded or unjudged one just above it lowers no measure but Judged."""
    for rank in [rank for rank in hits if rank > 1 and hits[rank] > 0]:
        if hits.get(rank - 1, 0) < hits[rank]:
            swapped = {**hits, rank - 1: hits[rank]}
            swapped.pop(rank)
            if rank - 1 in hits:
                swapped[rank] = hits[rank - 1]
            for name in ("AP", "nDCG", "RR", "P@3", "R@3", "Rprec", "Bpref"):
                assert score(name, swapped, missed) >= score(name, hits, missed) - 1e-12, name


def at_level(name: str, level: int) -> BoundMeasure:
    """The measure at a relevance level."""
    return with_level(parse(name), level)


@pytest.mark.parametrize("name", ["AP", "P@2", "R@2", "RR", "Rprec", "Bpref", "SetP", "Success@1"])
def test_the_level_changes_binary_measures(name: str) -> None:
    """Grade 1 stops being relevant at level 2."""
    one = judged({1: 1, 2: 2, 3: 0}, missed=[1])
    assert at_level(name, 1).compute(one)[0] != at_level(name, 2).compute(one)[0]


def test_the_level_never_changes_ndcg() -> None:
    """nDCG is computed from the grades whatever the level."""
    one = judged({1: 1, 2: 2, 3: 0}, missed=[1])
    assert at_level("nDCG@10", 1).compute(one).tolist() == at_level("nDCG@10", 2).compute(one).tolist()


def test_a_level_above_every_grade_scores_zero() -> None:
    """At a level no document reaches, every binary measure is 0."""
    for name in ("AP", "P@3", "R@3", "RR", "Rprec", "Bpref", "SetP", "SetR", "SetF", "NumRel"):
        assert at_level(name, 9).compute(judged({1: 2, 2: 0, 3: 1})).tolist() == [0.0], name


def test_negative_grades_are_non_relevant_for_ranked_measures() -> None:
    """AP, P, R and nDCG treat -1 and -2 as they treat an unjudged document at that rank."""
    for name in ("AP", "P@3", "R@3", "nDCG", "RR", "Rprec"):
        assert score(name, {1: -1, 2: 1, 3: -2, 4: 2}) == score(name, {2: 1, 4: 2}), name


def test_bpref_skips_negative_grades() -> None:
    """A negative grade above a relevant document costs Bpref nothing, a 0 does."""
    assert score("Bpref", {1: -1, 2: -2, 3: 1}, [0]) == 1.0
    assert score("Bpref", {1: 0, 3: 1}) == 0.0


def test_minus_one_is_not_judged_but_minus_two_is() -> None:
    """Judged@k counts -2 (junk) and 0 up, not -1 (pooled, not judged)."""
    assert score("Judged@4", {1: -2, 2: -1, 3: 0, 4: 1}) == 0.75


def test_judged_divides_by_what_was_retrieved() -> None:
    """A ranking shorter than the cut-off is measured on its own length, an empty one is 0."""
    assert parse("Judged@10").compute(judged({1: 0}, retrieved=4)).tolist() == [0.25]
    assert parse("Judged@10").compute(judged({}, missed=[1], retrieved=0)).tolist() == [0.0]


def test_a_topic_with_only_negative_grades_scores_zero() -> None:
    """Where trec_eval stops, the topic scores 0."""
    for measure in MEASURES:
        if measure.measure.name not in {"NumRet", "NumQ", "Judged", "Unj", "Utility", "RBPtrecResid"}:
            assert measure.compute(judged({1: -1, 2: -2})).tolist() == [0.0], measure.key


def test_precision_divides_by_the_cutoff_of_short_rankings_too() -> None:
    """One relevant document retrieved, nothing else: P@10 is a tenth."""
    assert score("P@10", {1: 1}) == 0.1


def test_means_add_one_topic_after_the_other() -> None:
    """The mean is the sequential sum over the number of topics, not a compensated or pairwise one."""
    scores = np.array([1e16, 1.0, -1e16] * 50)
    total = 0.0
    for value in scores.tolist():
        total = total + value
    assert parse("AP").aggregate(scores) == total / 150
    assert total != 50.0


def test_counts_are_summed() -> None:
    """NumRet, NumRel and NumRelRet of a run are totals, not means."""
    run = several({1: 1, 2: 0}, {1: 1, 5: 2})
    totals = {
        name: parse(name).aggregate(parse(name).compute(run)) for name in ("NumRet", "NumRel", "NumRelRet")
    }
    assert totals == {"NumRet": 7.0, "NumRel": 3.0, "NumRelRet": 3.0}


def test_a_mean_of_no_topics_is_an_error() -> None:
    """There is no honest number for the mean over nothing."""
    with pytest.raises(ValueError, match="no topics"):
        parse("AP").aggregate(np.empty(0))


def test_q_measure_worked_by_hand() -> None:
    """Grades 0 3 1 unjudged 1 of a topic with grades 3 2 1 1: at ranks 2, 3 and 5, R is 4."""
    run = judged({1: 0, 2: 3, 3: 1, 5: 1}, missed=[2])
    by_hand = ((1 + 3) / (2 + 5) + (2 + 4) / (3 + 6) + (3 + 5) / (5 + 7)) / 4
    assert q_measure(run) == pytest.approx([by_hand], rel=1e-12)
    # beta 0: 1/2, 2/3 and 3/5, average precision.
    assert q_measure(run, beta=0.0) == pytest.approx([(1 / 2 + 2 / 3 + 3 / 5) / 4], rel=1e-12)
    gained = (
        (1 + 10 * 9) / (2 + 10 * 13) + (2 + 10 * 10) / (3 + 10 * 14) + (3 + 10 * 11) / (5 + 10 * 15)
    ) / 4
    assert q_measure(run, beta=10.0, gains=((2, 4.0), (3, 9.0))) == pytest.approx([gained], rel=1e-12)
    assert q_measure(judged({1: 0}, missed=[])) == pytest.approx([0.0])


def test_capped_recall_and_hits_by_hand() -> None:
    """Two of five relevant documents in the top three: 2/3 of what could be there; two hits."""
    run = judged({1: 1, 3: 1, 9: 1}, missed=[1, 1], retrieved=10)
    assert parse("R_cap@3").measure.compute(run, cutoff=3).tolist() == pytest.approx([2 / 3])
    assert parse("hits@3").measure.compute(run, cutoff=3).tolist() == [2.0]
    assert parse("hole@5").measure.compute(run, cutoff=5).tolist() == pytest.approx([3 / 5])
