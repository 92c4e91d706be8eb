"""Nugget sets in their three forms."""

from pathlib import Path

import pytest

from leaderboard.errors import Invalid
from leaderboard.trec.nuggets.sets import Nugget, NuggetAnswer, read_nuggets
from tests.make.answers import jsonl, nuggets

QUESTION = {
    "question": "Why blue?",
    "query_id": "7",
    "aggregator_type": "AND",
    "importance": "vital",
    "answers": {"scattering": {"answer": "scattering", "references": [{"doc_id": "d4"}]}},
}
BANK = {"query_id": "7", "title_query": "sky", "format_version": "v3", "nugget_bank": {"Why blue?": QUESTION}}
SALT = {"question": "Why salt?", "answers": [{"answer": "rivers", "references": ["d4"]}]}
SUBMITTED = {"metadata": {"topic_id": "8", "run_id": "x"}, "nugget_bank": [{**SALT, "aggregator_type": "OR"}]}


def rules(path: Path, lines: list[object]) -> list[str]:
    """What is wrong with a file of these lines."""
    with pytest.raises(Invalid) as caught:
        read_nuggets(jsonl(path, lines))
    return [str(problem) for problem in caught.value.problems]


def test_the_three_forms_are_told_apart_by_keys(tmp_path: Path) -> None:
    """Statements, a bank of questions, a bank as it is submitted; extra keys do not matter."""
    statements = nuggets("9", water="vital", salt="failed")
    statements["nuggets"].append({"text": "wind", "source": "human", "mapped_sub_narrative": 2})
    found = read_nuggets(jsonl(tmp_path / "nuggets.jsonl", [statements, BANK, SUBMITTED]))
    assert found.topics == {
        "9": (Nugget("water", "vital"), Nugget("salt", "failed"), Nugget("wind", "okay", False)),
        "7": (Nugget("Why blue?", "vital", True, (NuggetAnswer("scattering", ("d4",)),), "AND"),),
        "8": (Nugget("Why salt?", "okay", False, (NuggetAnswer("rivers", ("d4",)),)),),
    }


def test_what_was_assumed_is_said(tmp_path: Path) -> None:
    """Importance that is missing, topics without nuggets, topics without vital ones."""
    lines = [nuggets("1", water="vital"), nuggets("2"), nuggets("3", wind="okay"), SUBMITTED]
    notes = read_nuggets(jsonl(tmp_path / "nuggets.jsonl", lines)).notes
    assert [note.rule for note in notes] == [
        "No importance with 1 of 3 nuggets; they count as okay.",
        "No nuggets in 1 topic (2); measures of nuggets leave them out.",
        "No vital nuggets in 2 topics (3, 8); V and V_strict are 0 there.",
    ]


def test_what_is_wrong_has_line_value_and_remedy(tmp_path: Path) -> None:
    """Up to 25 problems, each on its line."""
    twice = nuggets("1", water="vital")
    twice["nuggets"] *= 2
    lines: list[object] = [
        twice,
        nuggets("2", water="crucial"),
        {"nuggets": []},
        {"qid": "3"},
        nuggets("4", a="okay"),
        nuggets("4", a="okay"),
        {**BANK, "nugget_bank": "x"},
        {"query_id": "5", "nugget_bank": [{**QUESTION, "aggregator_type": "XOR"}]},
        {"query_id": "6", "nugget_bank": [{"question": "Why?", "answers": [{"text": "x"}]}]},
        {"query_id": "6", "nugget_bank": ["Why?"]},
        "{",
    ]
    assert rules(tmp_path / "nuggets.jsonl", lines) == [
        "line 1: nugget 'water': The topic has this nugget twice. Keep one.",
        "line 2: importance 'crucial': An importance is one of vital, okay, failed. "
        "Write one of them, or leave the key out for okay.",
        "line 3: key 'qid': The key qid is missing. Add it to the line.",
        "line 4: key 'nuggets': The key nuggets is missing. Add it to the line.",
        "line 6: topic '4': The topic has nuggets on an earlier line. Join the lines.",
        "line 7: nugget_bank 'x': nugget_bank must be a list or an object, not text. "
        "Write a list or an object there.",
        "line 8: aggregator_type 'XOR': aggregator_type is OR (one answer suffices) or AND (all are needed). "
        "Write one of the two.",
        "line 9: key 'answer': The key answer is missing. Add it to the line.",
        "line 10: each of nugget_bank 'Why?': each of nugget_bank must be an object, not text. "
        "Write an object there.",
        "line 11: '{': The line is not valid JSON: Expecting property name enclosed in double quotes. "
        "Write one JSON object per line.",
    ]
    assert rules(tmp_path / "empty.jsonl", []) == [
        "The file has no nuggets. Write one JSON object per topic, one per line."
    ]
    assert len(rules(tmp_path / "many.jsonl", ["{"] * 30)) == 25
