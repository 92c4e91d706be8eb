"""ROC measures and classification counts, held against every document of a small collection."""

from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from leaderboard.errors import MissingInput
from leaderboard.measures import curves
from leaderboard.measures.grammar import parse
from leaderboard.measures.judged import Judged, Judgments
from leaderboard.measures.richer_examples import judged

RANKINGS = st.lists(st.booleans(), max_size=12)
FEW = st.integers(0, 6)


def run_of(relevant: list[bool], missed: int, others: int) -> Judged:
    """A ranking, relevant documents it missed, and other documents of the collection it left out."""
    hits = {rank: int(is_relevant) for rank, is_relevant in enumerate(relevant, start=1)}
    size = len(relevant) + missed + others
    return judged(hits, missed=[1] * missed, retrieved=len(relevant), collection_size=size)


def score(name: str, relevant: list[bool], missed: int = 0, others: int = 0) -> float:
    """The measure's score of one ranking."""
    return float(parse(name).compute(run_of(relevant, missed, others))[0])


@given(RANKINGS, FEW, FEW)
def test_the_area_counts_pairs_in_order(relevant: list[bool], missed: int, others: int) -> None:
    """The area is the share of pairs in order, one half for pairs that both were not retrieved."""
    places = list(enumerate(relevant)) + [(len(relevant), True)] * missed + [(len(relevant), False)] * others
    good = [place for place, mark in places if mark]
    bad = [place for place, mark in places if not mark]
    if not good or not bad:
        assert score("ROCAUC", relevant, missed, others) == 0.0
        return
    right = sum(Fraction((one < two) + (one <= two), 2) for one in good for two in bad)
    assert score("ROCAUC", relevant, missed, others) == float(right / (len(good) * len(bad)))


@given(RANKINGS, FEW, FEW)
def test_the_area_is_that_under_the_points(relevant: list[bool], missed: int, others: int) -> None:
    """Integrating the points of the curve, to its end at (1, 1), gives the area."""
    total, size = sum(relevant) + missed, len(relevant) + missed + others
    if not 0 < total < size:
        return
    tpr, fpr = curves.roc(np.array(relevant, dtype=bool), total, size)
    tpr, fpr = np.concatenate(([0.0], tpr, [1.0])), np.concatenate(([0.0], fpr, [1.0]))
    area = float((np.diff(fpr) * (tpr[1:] + tpr[:-1]) / 2).sum())
    assert score("ROCAUC", relevant, missed, others) == pytest.approx(area, abs=1e-12)


@given(RANKINGS, FEW, FEW)
def test_the_equal_error_rate_is_where_the_errors_meet(
    relevant: list[bool], missed: int, others: int
) -> None:
    """Walking the curve from point to point, fallout and 1 - recall are equal at the rate."""
    total, size = sum(relevant) + missed, len(relevant) + missed + others
    ours = score("EER", relevant, missed, others)
    if not 0 < total < size:
        assert ours == 1.0
        return
    hits, points = 0, [(Fraction(0), Fraction(0))]
    for rank, mark in enumerate(relevant, start=1):
        hits += mark
        points.append((Fraction(rank - hits, size - total), Fraction(hits, total)))
    points.append((Fraction(1), Fraction(1)))
    for (x0, y0), (x1, y1) in pairwise(points):
        if x1 + y1 >= 1:
            share = (1 - x0 - y0) / ((x1 + y1) - (x0 + y0))
            assert ours == pytest.approx(float(x0 + share * (x1 - x0)), abs=1e-12)
            return


def test_perfect_reversed_and_empty_rankings() -> None:
    """All relevant first: area 1, error 0. All last: 0 and 1. Nothing retrieved: all tied, 1/2."""
    assert (score("ROCAUC", [True, True, False]), score("EER", [True, True, False])) == (1.0, 0.0)
    assert (score("ROCAUC", [False, True, True]), score("EER", [False, True, True])) == (0.0, 1.0)
    assert (score("ROCAUC", [], 2, 3), score("EER", [], 2, 3)) == (0.5, 0.5)


def test_many_topics_are_computed_apart() -> None:
    """The first crossing of each topic counts, whatever the other topics are like."""
    rankings = ([True, False, True, False], [False, True], [], [True])
    alone = [score("EER", ranking, 1, 3) for ranking in rankings]
    flat = [(place, rank) for place, ranking in enumerate(rankings) for rank in range(1, len(ranking) + 1)]
    topic, rank = np.array(flat, dtype=np.int64).T
    marks = [int(mark) for ranking in rankings for mark in [*ranking, True]]
    lengths = np.array([len(ranking) for ranking in rankings])
    starts = np.concatenate(([0], np.cumsum(lengths + 1)))
    for place, ranking in enumerate(rankings):
        size = len(ranking) + 4
        judgments = Judgments(("1", "2", "3", "4"), np.array(marks), starts, collection_size=size)
        together = Judged(judgments, topic, rank, starts[topic] + rank - 1, lengths)
        assert parse("EER").compute(together)[place] == alone[place]


@pytest.mark.parametrize("name", ["ROCAUC", "EER", "SetFallout", "SetSpecificity", "SetAccuracy"])
def test_the_size_of_the_collection_is_asked_for(name: str) -> None:
    """Without it there is an error that says so, and no number."""
    with pytest.raises(MissingInput, match="number of documents in the collection"):
        parse(name).compute(judged({1: 1}))


@given(RANKINGS, FEW, FEW)
def test_a_set_is_classified_document_by_document(relevant: list[bool], missed: int, others: int) -> None:
    """Fallout, specificity and accuracy count the four kinds of documents."""
    fallout, specificity, accuracy = (
        score(name, relevant, missed, others) for name in ("SetFallout", "SetSpecificity", "SetAccuracy")
    )
    wrong = len(relevant) - sum(relevant)
    if wrong + others:
        assert fallout == wrong / (wrong + others)
        assert specificity == others / (wrong + others)
    else:
        assert (fallout, specificity) == (0.0, 1.0)
    size = len(relevant) + missed + others
    assert accuracy == ((sum(relevant) + others) / size if size else 1.0)


def test_a_collection_is_at_least_what_was_retrieved() -> None:
    """A stated size below what the run and the judgments hold gives no rate above 1."""
    run = judged({1: 1, 2: 0, 3: 0, 4: 1}, collection_size=3)
    for name in ("ROCAUC", "EER", "SetFallout", "SetSpecificity", "SetAccuracy"):
        assert 0.0 <= parse(name).compute(run)[0] <= 1.0, name
    assert parse("SetFallout").compute(run)[0] == 1.0


@given(st.lists(st.booleans(), min_size=1, max_size=12), st.integers(1, 12))
def test_pairwise_accuracy_looks_at_what_was_retrieved(relevant: list[bool], cutoff: int) -> None:
    """It is the ROC area of the top documents as if they were all there are."""
    top = relevant[:cutoff]
    assert score(f"Accuracy@{cutoff}", relevant) == pytest.approx(score("ROCAUC", top), abs=1e-15)


@given(st.lists(st.booleans(), min_size=2, max_size=12), FEW)
def test_pairwise_accuracy_is_that_of_ir_measures(relevant: list[bool], missed: int) -> None:
    """ir_measures gives the same number wherever it gives one."""
    ir_measures = pytest.importorskip("ir_measures")
    if all(relevant) or not any(relevant):
        return
    run = {"1": {f"d{rank:02}": -rank for rank in range(len(relevant))}}
    grades = {f"d{rank:02}": int(mark) for rank, mark in enumerate(relevant)}
    qrels = {"1": {**grades, **{f"m{place}": 1 for place in range(missed)}}}
    theirs = ir_measures.calc_aggregate([ir_measures.Accuracy], qrels, run)[ir_measures.Accuracy]
    assert score("Accuracy", relevant, missed) == pytest.approx(theirs, abs=1e-12)
