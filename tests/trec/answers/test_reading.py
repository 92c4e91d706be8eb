"""One line to one answer: ids, citations of all forms, what both keys of segments mean."""

import json

import pytest

from leaderboard.trec.answers.check import LineReader
from leaderboard.trec.answers.dialects import DIALECTS, recognised
from leaderboard.trec.answers.record import Answer, Citation
from leaderboard.trec.read.json_objects import Fault
from tests.make.answers import LINES, Line, line


def read(dialect: str, record: Line) -> tuple[Answer | None, list[str]]:
    """The answer on a line, and the rules it breaks."""
    reader = LineReader(DIALECTS[dialect])
    found = reader.read(1, record, json.dumps(record))
    return found.answer if found else None, [one.rule for one in reader.findings.errors]


def answer(dialect: str, record: Line) -> Answer:
    """The answer on a line that breaks no rule."""
    found, rules = read(dialect, record)
    assert found is not None
    assert rules == []
    return found


@pytest.mark.parametrize("dialect", LINES)
def test_the_dialects_are_known_by_their_keys(dialect: str) -> None:
    """Each example of a line is recognised; what has other keys is not."""
    assert recognised(LINES[dialect]).name == dialect
    with pytest.raises(Fault, match="no dialect of answers"):
        recognised({"metadata": {"topic_id": "7"}, "nugget_bank": []})


def test_all_dialects_give_one_form() -> None:
    """Positions, docnos and maps: run, topic, segments, citations strongest first, references."""
    read24 = answer("rag24", line("rag24"))
    assert (read24.run, read24.topic, read24.references) == ("u1", "7", ("d9", "d4"))
    assert [segment.text for segment in read24.segments] == [
        "Air scatters blue light most.",
        "Sunsets differ.",
    ]
    assert read24.segments[0].citations == (Citation("d4"), Citation("d9"))
    assert read24.segments[1].citations == ()
    assert json.loads(read24.line) == LINES["rag24"]
    assert answer("rag25", line("rag25")).segments[0].citations == (Citation("d4"), Citation("d9"))
    assert answer("rag26", line("rag26")).segments[0].citations == (Citation("d4"), Citation("d9"))
    assert answer("report", line("report")).segments[0].citations == (
        Citation("d9", 0.9),
        Citation("d4", 0.4),
    )


def test_equal_confidences_keep_the_files_order() -> None:
    """A map is ordered by confidence descending, then as it was written."""
    record = line("report", "responses.0.citations", {"d9": 0.5, "d4": 0.5, "d1": 1})
    record["references"] = ["d1", "d4", "d9"]
    assert [one.docno for one in answer("report", record).segments[0].citations] == ["d1", "d9", "d4"]


@pytest.mark.parametrize(("dialect", "path"), [("rag24", "topic_id"), ("rag25", "metadata.narrative_id")])
def test_topics_are_text(dialect: str, path: str) -> None:
    """7 and "7" are one topic; 7.0 and true are none."""
    assert answer(dialect, line(dialect, path, 7)).topic == answer(dialect, line(dialect, path, "7")).topic
    for value in (7.0, True, "", " ", "a\nb", [7]):
        found, rules = read(dialect, line(dialect, path, value))
        assert found is None
        assert len(rules) == 1


def test_keys_of_the_topic_agree() -> None:
    """topic_id and narrative_id may both be there if they name one topic; request_id serves a report."""
    assert answer("rag25", line("rag25", "metadata.topic_id", "7")).topic == "7"
    assert read("rag25", line("rag25", "metadata.topic_id", "8"))[1] == [
        "topic_id and narrative_id name different topics."
    ]
    record = line("report", "metadata.topic_id")
    assert read("report", record)[1] == ["The key metadata.topic_id is missing."]
    record["metadata"]["request_id"] = "leaf"
    assert answer("report", record).topic == "leaf"


def test_answer_and_responses_are_one_thing() -> None:
    """Either key serves in any dialect; both must hold the same."""
    record = line("rag25")
    record["responses"] = record["answer"]
    assert answer("rag25", record) == answer("rag25", {**record})
    del record["answer"]
    assert len(answer("rag25", record).segments) == 1
    record["answer"] = []
    assert read("rag25", record)[1] == ["The line has both answer and responses, and they differ."]


def test_references_that_are_numbers_become_text() -> None:
    """LongEval's documents have numbers; positions still count from 0, and a string is never a position."""
    record = line("rag25", "references", [100, 7])
    record["answer"][0]["citations"] = [1]
    found = answer("longeval-rag", record)
    assert found.references == ("100", "7")
    assert found.segments[0].citations == (Citation("7"),)
    record["answer"][0]["citations"] = ["7"]
    assert answer("rag25", record).segments[0].citations == (Citation("7"),)


def test_positions_and_docnos_mix_in_rag26_alone() -> None:
    """One answer of rag25 cites by one or the other, also over its segments."""
    segments = [{"text": "One.", "citations": [0]}, {"text": "Two.", "citations": ["d9"]}]
    assert len(answer("rag26", line("rag26", "answer", segments)).segments) == 2
    assert read("rag25", line("rag25", "answer", segments))[1] == [
        "The answer cites both by position and by document id."
    ]


@pytest.mark.parametrize("confidence", [True, "0.5", None, [1]])
def test_confidences_are_numbers(confidence: object) -> None:
    """A confidence is a finite number."""
    found, rules = read("report", line("report", "responses.0.citations", {"d4": confidence}))
    assert found is None
    assert rules[0].startswith("confidence must be a number")


def test_text_that_cannot_be_stored_is_refused() -> None:
    """NUL, half a surrogate pair, and confidences that are not finite."""
    for text in ("a\x00b", "\ud800"):
        assert read("report", line("report", "responses.0.text", text))[1] == [
            "text contains NUL or half a surrogate pair."
        ]
    record = json.loads('{"metadata":{"team_id":"u","run_id":"r","topic_id":"7"},"references":["d4"],'
                        '"responses":[{"text":"One.","citations":{"d4":NaN}}]}')  # fmt: skip
    assert read("report", record)[1] == ["confidence is not a finite number."]


def test_a_report_without_references_takes_those_cited() -> None:
    """In the order of their first citation."""
    record = line("report", "references")
    assert answer("report", record).references == ("d9", "d4")
