"""The numbers of answers that were worked out by hand, and what happens at their edges."""

import math
from typing import Any

import pytest

from leaderboard.measures.answers.example import argued, assigned, labelled
from leaderboard.measures.answers.judged import AnswerSize, JudgedAnswer
from leaderboard.measures.answers.registry import MEASURES, parse

FIRST = assigned(
    vital="support support partial_support not_support", okay="support partial_support not_support"
)
SECOND = assigned(okay="support not_support")
QUESTIONS = assigned(
    vital="support support not_support", okay="support support support not_support not_support"
)
SIX = labelled([2, 0], [1], [], [-1, 2], [0, 1, 2], [-1])
PAPER = labelled([1], [2], [])
EMPTY = JudgedAnswer("1", importances=("vital", "okay"))
WRITTEN = AnswerSize(words=2, segments=2, citations=1, cited=1)


def score(name: str, *answers: JudgedAnswer) -> list[float]:
    """The scores by the measure of that name, to six places."""
    bound = parse(name)
    values: Any = bound.measure.compute(answers, **bound.params)
    return [round(value, 6) for value in values.tolist()]


@pytest.mark.parametrize(
    ("name", "first", "second"),
    [
        ("V_strict", 0.5, 0.0),
        ("A_strict", 0.428571, 0.5),
        ("V", 0.625, 0.0),
        ("A", 0.571429, 0.5),
        ("W", 0.590909, 0.5),
        ("W_strict", 0.454545, 0.5),
        ("NuggetRecall(set=vital,strict=1)", 0.5, 0.0),
        ("strict_all_score", 0.428571, 0.5),
    ],
)
def test_recall_of_nuggets(name: str, first: float, second: float) -> None:
    """Two topics; the second one has no vital nuggets."""
    assert score(name, FIRST, SECOND) == [first, second]


def test_coverage_of_questions() -> None:
    """2 of 3 vital and 3 of 5 other questions; all weigh 1 where none is vital."""
    assert score("NuggetCoverage", QUESTIONS) == [0.625]
    assert score("NuggetCoverage(weighted=1)", QUESTIONS, SECOND) == [0.636364, 0.5]


@pytest.mark.parametrize(
    ("name", "six", "paper"),
    [
        ("SupportP", 0.5, 0.75),
        ("SupportR", 0.375, 0.5),
        ("SupportP(hard=1)", 0.333333, 0.5),
        ("SupportR(hard=1)", 0.25, 0.333333),
        ("SupportP(citations=all)", 0.625, 0.75),
        ("SupportR(citations=all)", 0.5, 0.5),
    ],
)
def test_support(name: str, six: float, paper: float) -> None:
    """Six segments with labels of all kinds, and the paper's three."""
    assert score(name, SIX, PAPER) == [six, paper]


def test_measures_of_auto_argue() -> None:
    """Segments with all, some or none of their citations, one that needs a citation, one that does not."""
    answer = argued((2, 2, 1), (2, 1, 2), (1, 0, 1), (0, 0, 0), needing=1, answered=2, of=3)
    assert score("SentenceSupport", answer) == [0.25]
    assert score("CitationSupport", answer) == [0.6]
    assert score("CitationRelevance", answer) == [0.8]
    assert score("ArgueF1", answer) == [0.363636]


def test_an_f_of_nothing_is_0() -> None:
    """Both are 0; and so are all the others of an answer that cites nothing."""
    answer = argued((0, 0, 0), answered=0, of=2)
    for name in ("ArgueF1", "SentenceSupport", "CitationSupport", "CitationRelevance", "ArgueF1_micro"):
        assert score(name, answer) == [0.0]


@pytest.mark.parametrize("measure", MEASURES, ids=lambda measure: measure.name)
def test_an_empty_or_missing_answer_has_0(measure: Any) -> None:
    """By every measure, though nobody judged it."""
    name = f"{measure.name}(set=vital)" if measure.name == "NuggetRecall" else measure.name
    assert score(name, EMPTY) == [0.0]


@pytest.mark.parametrize(
    "name",
    [
        "V",
        "A_strict",
        "W",
        "NuggetCoverage",
        "SupportP",
        "SupportR",
        "SentenceSupport",
        "ArgueF1",
        "f1_micro",
    ],
)
def test_an_answer_that_nobody_judged_has_no_score(name: str) -> None:
    """Not 0: somebody else's answers were judged, this one was not."""
    answer = JudgedAnswer("1", WRITTEN, ("vital", "okay"))
    assert all(map(math.isnan, score(name, answer)))


def test_citations_none_of_which_was_judged_give_no_score() -> None:
    """The first citations, or all of them; the official program writes 0."""
    late = labelled([-1, 2], [])
    assert all(map(math.isnan, score("SupportP", late) + score("SupportR", late)))
    assert score("SupportP(citations=all)", late) == [1.0]
    assert score("SupportR(citations=all)", late) == [0.5]
    assert all(map(math.isnan, score("SupportP(citations=all)", labelled([-1, -1]))))
    assert score("SupportP", labelled([], [])) == score("SupportR", labelled([], [])) == [0.0]


def test_failed_assignments_and_importances() -> None:
    """An assignment that failed counts 0; a nugget whose importance failed is in A, half in W, not in V."""
    assert score("A", assigned(vital="support failed")) == [0.5]
    answer = assigned(vital="support", failed="not_support")
    assert [score(name, answer) for name in ("V", "A", "W")] == [[1.0], [0.5], [0.666667]]
