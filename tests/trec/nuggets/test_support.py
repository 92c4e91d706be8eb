"""Support labels: a line a (run, topic), or a line a pair."""

from pathlib import Path
from typing import Any

import pytest

from leaderboard.errors import Invalid
from leaderboard.trec.answers.record import Answer, Citation, Segment
from leaderboard.trec.nuggets.support import read_support
from leaderboard.trec.read.json_objects import Fault
from tests.make.answers import Line, jsonl, supported

SEGMENTS = Segment("A.", (Citation("d4"), Citation("d9"))), Segment("B."), Segment("C.", (Citation("d1"),))
ANSWER = Answer("one", "7", SEGMENTS, ())


def pair(segment: int, citation: int, label: object = "FS", topic: str = "7", **more: Any) -> Line:
    """A line of one pair."""
    facts = {"topic_id": topic, "run_id": "one", "sentence_index": segment, "citation_index": citation}
    return {"metadata": facts, "support_label": label, "status": "completed", **more}


def rules(folder: Path, *lines: Line) -> list[str]:
    """What is wrong with these lines."""
    with pytest.raises(Invalid) as caught:
        read_support(jsonl(folder / "support.jsonl", lines))
    return [str(problem) for problem in caught.value.problems]


def test_a_line_of_a_whole_answer(tmp_path: Path) -> None:
    """Sentences and citations in the order of their ids; numbers serve as labels too."""
    line = supported("7", [2, 0], [], [-1])
    line["sentences"].reverse()
    line["sentences"][2]["citations"].reverse()
    line["sentences"][2]["citations"][1]["support"] = 2
    labels = read_support(jsonl(tmp_path / "support.jsonl", [line]))
    assert labels.of("one", "7", None) == ((2, 0), (), (-1,))
    assert labels.cells == {("one", "7")}
    assert labels.of("two", "7", ANSWER) is None


def test_narrative_id_is_a_topic_too(tmp_path: Path) -> None:
    """As text, whatever it was."""
    line = supported("7", [1])
    line["narrative_id"] = 7
    del line["topic_id"]
    assert read_support(jsonl(tmp_path / "support.jsonl", [line])).cells == {("one", "7")}


def test_lines_of_pairs(tmp_path: Path) -> None:
    """Full, partial, none; a status other than completed, and a pair without a line, are not judged."""
    lines = [pair(0, 0, "PS"), pair(2, 0, None, status="failed")]
    labels = read_support(jsonl(tmp_path / "support.jsonl", lines))
    assert labels.of("one", "7", ANSWER) == ((1, -1), (), (-1,))
    everything = [pair(0, 0, "FS"), pair(0, 1, "NS"), pair(2, 0, "PS")]
    labels = read_support(jsonl(tmp_path / "support.jsonl", everything))
    assert labels.of("one", "7", ANSWER) == ((2, 0), (), (1,))


@pytest.mark.parametrize("place", [(1, 0), (3, 0), (0, 2)])
def test_a_label_of_a_citation_that_the_answer_lacks(tmp_path: Path, place: tuple[int, int]) -> None:
    """Labels and run do not belong together."""
    labels = read_support(jsonl(tmp_path / "support.jsonl", [pair(*place)]))
    with pytest.raises(Fault, match="Run one has labels of a citation that its answer to 7 lacks."):
        labels.of("one", "7", ANSWER)
    with pytest.raises(Fault, match="lacks"):
        labels.of("one", "7", None)


def test_what_is_wrong(tmp_path: Path) -> None:
    """Labels that are unknown, ids that leave one out, a cell or pair twice."""
    gap = supported("1", [2], [1])
    gap["sentences"][1]["sentenceID"] = 5
    twice = supported("2", [2], [1])
    twice["sentences"][1]["sentenceID"] = 0
    late = supported("3", [2, 1])
    late["sentences"][0]["citations"] = late["sentences"][0]["citations"][1:]
    good = supported("4", [2])
    assert rules(
        tmp_path, gap, twice, late, good, good, supported("5", [3]), pair(0, 0), pair(0, 0, "PS"),
        pair(0, 1, "full"), pair(-1, 0), pair(0, 0, topic="4"), pair(0, 3, ["FS"]),
    ) == [
        "line 1: sentenceID '1': sentenceID counts from 0; 1 is missing. Number them in order.",
        "line 2: sentenceID '0': The line has this sentence twice. Keep one.",
        "line 3: citationID '0': citationID counts from 0; 0 is missing. Number them in order.",
        "line 5: topic '4': The run has labels for this topic already. Keep one line.",
        "line 6: support '3': A support label is 2 (full), 1 (partial), 0 (none) or -1 (not judged). "
        "Write one of them.",
        "line 8: sentence_index '0': The citation has another label already. Keep one.",
        "line 9: support_label 'full': A support label is FS, PS or NS. Write one of them, or a status.",
        "line 10: sentence_index '-1': sentence_index is negative. Count from 0.",
        "line 11: sentence_index '0': The citation has another label already. Keep one.",
        "line 12: support_label \"['FS']\": A support label is FS, PS or NS. Write one of them, or a status.",
    ]  # fmt: skip
    assert rules(tmp_path) == ["The file has no support labels. Write one JSON object per line."]
