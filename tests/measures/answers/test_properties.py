"""What holds for the measures of answers whatever was judged."""

from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as some

from leaderboard.measures.answers.example import assigned, labelled
from leaderboard.measures.answers.judged import JudgedAnswer
from leaderboard.measures.answers.registry import parse

LABELS = some.lists(some.sampled_from(["support", "partial_support", "not_support", "failed"]), max_size=6)
SEGMENTS = some.lists(some.lists(some.integers(0, 2), max_size=3), max_size=6)


def score(name: str, answer: JudgedAnswer) -> float:
    """The score by the measure of that name."""
    bound = parse(name)
    values: Any = bound.measure.compute([answer], **bound.params)
    return float(values[0])


def topic(vital: list[str], okay: list[str]) -> JudgedAnswer:
    """A topic with these assignments of its nuggets."""
    return assigned(vital=" ".join(vital), okay=" ".join(okay))


@given(LABELS, LABELS)
def test_strict_scores_are_never_higher(vital: list[str], okay: list[str]) -> None:
    """V_strict <= V, A_strict <= A, W_strict <= W."""
    for name in "VAW":
        assert score(f"{name}_strict", topic(vital, okay)) <= score(name, topic(vital, okay))


@given(LABELS, LABELS)
def test_the_weighted_recall_lies_between(vital: list[str], okay: list[str]) -> None:
    """W between V and the recall of the other nuggets alone."""
    assume(vital and okay)
    ends = score("V", topic(vital, okay)), score("A", topic([], okay))
    assert min(ends) - 1e-12 <= score("W", topic(vital, okay)) <= max(ends) + 1e-12


@given(LABELS, LABELS)
def test_one_more_nugget_that_is_held_never_lowers_a(vital: list[str], okay: list[str]) -> None:
    """Whatever else is held."""
    before = score("A", topic(vital, okay))
    assert score("A", topic(vital, [*okay, "support"])) >= before - 1e-12
    assert score("A", topic([*vital, "support"], okay)) >= before - 1e-12


@given(SEGMENTS, some.sampled_from(["", "hard=1", "citations=all", "hard=1,citations=all"]))
def test_recall_of_support_is_never_higher_than_precision(segments: list[list[int]], form: str) -> None:
    """Where everything that is cited was judged; and they are equal where every segment cites."""
    precision = score(f"SupportP({form})", labelled(*segments))
    recall = score(f"SupportR({form})", labelled(*segments))
    assert recall <= precision
    if all(segments):
        assert recall == precision


@given(LABELS, LABELS)
def test_coverage_is_the_strict_recall_of_all(vital: list[str], okay: list[str]) -> None:
    """Unweighted; with weights it lies within 0 and 1."""
    assert score("NuggetCoverage", topic(vital, okay)) == pytest.approx(score("A_strict", topic(vital, okay)))
    assert 0.0 <= score("NuggetCoverage(weighted=1)", topic(vital, okay)) <= 1.0
