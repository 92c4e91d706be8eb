"""Assignments: exactly the nuggets of the set, in any order, with their importance."""

from pathlib import Path

import pytest

from leaderboard.errors import Invalid
from leaderboard.trec.nuggets.assignments import AssignedNuggets, Assignments, read_assignments
from leaderboard.trec.nuggets.sets import Nugget, read_nuggets
from tests.make.answers import Line, assigned, jsonl, nuggets

SET = nuggets("7", blue="vital", Rayleigh="okay")


def read(folder: Path, *lines: Line, given: Line | None = SET) -> Assignments:
    """The assignments on these lines, by a set unless it is None."""
    known = read_nuggets(jsonl(folder / "nuggets.jsonl", [given])) if given else None
    return read_assignments(jsonl(folder / "assignments.jsonl", lines), known)


def rules(folder: Path, *lines: Line, given: Line | None = SET) -> list[str]:
    """What is wrong with these lines."""
    with pytest.raises(Invalid) as caught:
        read(folder, *lines, given=given)
    return [str(problem) for problem in caught.value.problems]


def test_labels_come_in_the_sets_order_whatever_the_lines(tmp_path: Path) -> None:
    """Any case, blanks around it, `fail` for failed; the text that was judged has its blanks folded."""
    line = assigned(
        "7", {"Rayleigh": ("okay", "fail"), "blue": ("vital", " Support ")}, text="Air  is\nblue."
    )
    assert read(tmp_path, line).cells == {
        ("one", "7"): AssignedNuggets(("support", "failed"), "Air is blue.")
    }


def test_without_a_set_the_lines_make_one(tmp_path: Path) -> None:
    """The union of a topic's nuggets, so that each line must name them all."""
    one = assigned("7", {"blue": ("vital", "support")})
    other = assigned("7", {"blue": ("vital", "not_support")}, run="two")
    found = read(tmp_path, one, other, given=None)
    assert found.nuggets.topics == {"7": (Nugget("blue", "vital"),)}
    assert len(found.cells) == 2
    more = assigned("7", {"Rayleigh": ("okay", "support")}, run="two")
    assert [rule.partition(": The")[0] for rule in rules(tmp_path, one, more, given=None)] == [
        "line 1: qid '7'",
        "line 2: qid '7'",
    ]


def test_a_line_that_differs_from_the_set_is_refused_with_what_differs(tmp_path: Path) -> None:
    """A nugget too many, one missing, another importance."""
    remedy = "Name each nugget of the set once, with its text and importance as they are there."
    line = assigned("7", {"blue": ("okay", "support"), "salt": ("okay", "support")})
    assert rules(tmp_path, line) == [
        "line 1: qid '7': The line does not name the nuggets of the set: 'salt' is not in the set; "
        f"'blue' is vital there, okay here; 'Rayleigh' is missing. {remedy}"
    ]


def test_what_else_is_wrong(tmp_path: Path) -> None:
    """Labels and topics that are unknown, a cell or nugget twice, keys that are missing."""
    good = assigned("7", {"blue": ("vital", "support"), "Rayleigh": ("okay", "support")})
    twice = assigned("7", {"blue": ("vital", "support")}, run="two")
    twice["nuggets"] *= 2
    found = rules(
        tmp_path,
        good,
        good,
        assigned("9", {"blue": ("vital", "support")}),
        assigned("7", {"blue": ("vital", "yes")}),
        twice,
        {"qid": "7", "nuggets": []},
    )
    assert found == [
        "line 4: assignment 'yes': An assignment is one of support, partial_support, not_support, failed. "
        "Write one of them.",
        "line 5: nugget 'blue': The line names this nugget twice. Keep one.",
        "line 6: key 'run_id': The key run_id is missing. Add it to the line.",
    ]
    assert rules(tmp_path, good, good, assigned("9", {"blue": ("vital", "support")})) == [
        "line 2: run_id 'one': There are assignments of this run for topic 7 already. "
        "Keep one line per run and topic.",
        "line 3: qid '9': The nugget set does not have this topic. Add it, or leave the line out.",
    ]


def test_the_share_of_failed_labels(tmp_path: Path) -> None:
    """Over all labels."""
    line = assigned("7", {"Rayleigh": ("okay", "failed"), "blue": ("vital", "support")})
    assert read(tmp_path, line).failed_share == 0.5
    assert Assignments(read_nuggets(jsonl(tmp_path / "n", [SET]))).failed_share == 0.0
