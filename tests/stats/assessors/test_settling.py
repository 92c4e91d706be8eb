"""Settling on one grade a document: every rule on one small log."""

from datetime import UTC, datetime
from typing import NamedTuple

import pytest

from leaderboard.stats.assessors import RULES, RuleKey, in_force, settle


class Event(NamedTuple):
    """A label as the log has it."""

    topic_id: str
    docno: str
    assessor: str
    grade: int | None
    saved_at: datetime


def _label(topic_id: str, docno: str, assessor: str, grade: int | None, at: float) -> Event:
    """A label given at a second from the beginning."""
    return Event(topic_id, docno, assessor, grade, datetime.fromtimestamp(at, UTC))


LOG = [
    _label("1", "a", "x", 1, 1.0),
    _label("1", "a", "y", 0, 2.0),
    _label("1", "a", "z", 0, 3.0),
    _label("1", "b", "y", 0, 4.0),
    _label("1", "b", "x", 3, 5.0),
    _label("1", "c", "x", 2, 6.0),
    _label("1", "c", "y", 2, 7.0),
    _label("1", "d", "x", 1, 8.0),
    _label("2", "a", "x", None, 9.0),
]
"""Two against one; a draw; agreement; one assessor alone; skipped."""


@pytest.mark.parametrize(
    ("rule", "expected"),
    [
        ("single", {"a": 1, "b": 0, "c": 2, "d": 1}),
        ("majority", {"a": 0, "b": 0, "c": 2, "d": 1}),
        ("last", {"a": 0, "b": 3, "c": 2, "d": 1}),
        ("mean", {"a": 0, "b": 2, "c": 2, "d": 1}),
        ("max", {"a": 1, "b": 3, "c": 2, "d": 1}),
        ("adjudicated", {"c": 2, "d": 1}),
    ],
)
def test_each_rule(rule: RuleKey, expected: dict[str, int]) -> None:
    """What each rule makes of the log; disagreements and skips are the same by all."""
    found = settle(LOG, rule)
    assert found.grades == {("1", docno): grade for docno, grade in expected.items()}
    assert found.disagreed == (("1", "a"), ("1", "b"))
    assert found.skipped == (("2", "a"),)
    assert found.open == tuple(("1", docno) for docno in "abcd" if docno not in expected)


def test_every_rule_is_worked_here() -> None:
    """The registry has those six and no other."""
    assert list(RULES) == ["single", "majority", "last", "mean", "max", "adjudicated"]


def test_the_adjudicator_decides() -> None:
    """Her last label counts, against all others, and is no disagreement of assessors."""
    log = [*LOG, _label("1", "b", "judge", 1, 10.0), _label("1", "d", "judge", 0, 11.0)]
    found = settle(log, "adjudicated", adjudicators={"judge"})
    assert (found.grades["1", "b"], found.grades["1", "d"]) == (1, 0)
    assert found.open == (("1", "a"),)
    assert found.disagreed == (("1", "a"), ("1", "b"))


def test_a_draw_goes_where_it_is_told_to() -> None:
    """The lower grade, the higher, or open."""
    assert settle(LOG, "majority", ties="higher").grades["1", "b"] == 3
    still_open = settle(LOG, "majority", ties="open")
    assert ("1", "b") not in still_open.grades
    assert still_open.open == (("1", "b"),)


def test_an_assessor_who_changes_her_mind_counts_once() -> None:
    """Her last label is in force, but she remains the one who judged first."""
    log = [*LOG, _label("1", "a", "x", 2, 10.0)]
    assert settle(log, "single").grades["1", "a"] == 2
    assert settle(log, "last").grades["1", "a"] == 2
    assert settle(log, "majority").grades["1", "a"] == 0


def test_a_skip_takes_back_the_label_before() -> None:
    """Skipping what was judged leaves no label of that assessor."""
    log = [*LOG, _label("1", "d", "x", None, 10.0), _label("1", "a", "x", None, 11.0)]
    found = settle(log, "single")
    assert ("1", "d") not in found.grades
    assert found.grades["1", "a"] == 0
    assert found.skipped == (("1", "d"), ("2", "a"))


def test_events_may_come_in_any_order() -> None:
    """Time decides; of equal times the later in the log."""
    assert settle(LOG[::-1], "last") == settle(LOG, "last")
    twice = [_label("1", "a", "x", 0, 1.0), _label("1", "a", "x", 1, 1.0)]
    assert [each.grade for each in in_force(twice)] == [1]


def test_no_labels_make_no_grades() -> None:
    """An empty log settles nothing."""
    assert settle([], "majority").grades == {}
