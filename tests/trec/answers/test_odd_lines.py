"""Whatever a line holds, it is read, or refused with a rule and a remedy."""

import copy
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as some

from leaderboard.errors import Invalid, Problem
from leaderboard.trec.answers.check import AnswerRules, check_answers
from leaderboard.trec.answers.record import AnswerTopic
from leaderboard.trec.nuggets.assignments import read_assignments
from leaderboard.trec.nuggets.sets import read_argued, read_nuggets
from leaderboard.trec.nuggets.support import read_support
from tests.make.answers import LINES, assigned, jsonl, nuggets, supported
from tests.trec.nuggets.argued import answers, argued, attested, sentence

VALUES = some.recursive(
    some.none() | some.booleans() | some.integers() | some.floats() | some.text(max_size=4),
    lambda inner: some.lists(inner, max_size=2) | some.dictionaries(some.text(max_size=3), inner, max_size=2),
    max_leaves=4,
)
QUESTION = {"question": "Q", "answers": {"A": {"answer": "A", "references": [{"doc_id": "d"}]}}}
PLACE = {"topic_id": "7", "run_id": "r", "sentence_index": 0, "citation_index": 0}
COUNTS = {"citations": 2, "supporting": 1, "relevant": 2, "needs_citation": False}
READERS: dict[str, tuple[Callable[[Path], object], dict[str, Any]]] = {
    "nuggets": (read_nuggets, nuggets("7", a="vital", b="okay")),
    "bank": (read_nuggets, {"query_id": "7", "nugget_bank": {"Q": QUESTION}}),
    "assignments": (read_assignments, assigned("7", {"a": ("vital", "support")}, text="Air.")),
    "support": (read_support, supported("7", [2, 0], [])),
    "pairs": (read_support, {"metadata": PLACE, "support_label": "FS", "status": "completed"}),
    "argue": (read_argued, argued("7", sentence("A.", "d4", attested("d4"), answers("Q", "A")))),
    "counts": (read_argued, {"topic_id": "7", "run_id": "r", "sentences": [COUNTS], "matched": {"Q": ["A"]}}),
}
QUICK = settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)


def places(value: object, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The paths to all that a value holds."""
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, inner in items:
        yield (*path, key)
        yield from places(inner, (*path, key))


def changed(data: some.DataObject, record: dict[str, Any]) -> dict[str, Any]:
    """The record with any value at one of its places, or without it."""
    made = copy.deepcopy(record)
    *parents, last = data.draw(some.sampled_from(list(places(made))))
    place: Any = made
    for parent in parents:
        place = place[parent]
    if data.draw(some.booleans()):
        place[last] = data.draw(VALUES)
    else:
        del place[last]
    return made


def are_told(problems: tuple[Problem, ...]) -> bool:
    """Whether each has a rule and a remedy and can be shown."""
    return all(one.rule and one.remedy and str(one).encode() for one in problems)


@QUICK
@given(some.data(), some.sampled_from(list(LINES)))
def test_any_value_anywhere_in_an_answer(tmp_path: Path, data: some.DataObject, dialect: str) -> None:
    """The check says what is wrong and never fails; its report is JSON."""
    lines = [changed(data, LINES[dialect]), "{" if data.draw(some.booleans()) else LINES[dialect]]
    rules = AnswerRules(
        topics={"7": AnswerTopic("7", ("why is the sky blue",), 20)},
        dialects=(dialect,),
        over=data.draw(some.sampled_from(["refuse", "cut", "warn"])),
        docno_pattern=r"d\d",
    )
    report = check_answers(jsonl(tmp_path / "run.jsonl", lines), rules)
    assert are_told((*report.problems, *report.warnings))
    json.dumps(report.as_json(), allow_nan=False).encode()


@QUICK
@given(some.data(), some.sampled_from(list(READERS)))
def test_any_value_anywhere_in_judgments(tmp_path: Path, data: some.DataObject, name: str) -> None:
    """They are read, or refused with line, rule and remedy."""
    reader, record = READERS[name]
    path = jsonl(tmp_path / "judgments.jsonl", [changed(data, record)])
    assert are_told(refused(reader, path))


def refused(reader: Callable[[Path], object], path: Path) -> tuple[Problem, ...]:
    """The problems for which a file is refused, none where it is read."""
    try:
        reader(path)
    except Invalid as error:
        return error.problems or (Problem(""),)
    return ()


@pytest.mark.parametrize(
    "text", ["null", "7", '"text"', "[]", "{}", "[" * 100_000, '{"a": 1e999}', "9" * 5000]
)
def test_lines_that_are_no_answers(tmp_path: Path, text: str) -> None:
    """In any dialect, and where one is asked for."""
    for dialects in ((), ("rag24",), ("report",)):
        report = check_answers(jsonl(tmp_path / "run.jsonl", [text]), AnswerRules(dialects=dialects))
        assert report.problems
        assert are_told(report.problems)
