"""Reading an answer in any dialect and writing it as a report keeps what it says and cites."""

import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as some

from leaderboard.trec.answers.check import LineReader
from leaderboard.trec.answers.dialects import DIALECTS, REPORT, recognised
from leaderboard.trec.answers.record import Answer, as_report
from tests.make.answers import LINES, Line, line

TEXT = some.text(some.characters(exclude_characters="\x00", exclude_categories=("Cs",)), max_size=20)
DOCNO = some.text("abcdef0123456789", min_size=1, max_size=5)
SEGMENTS = some.lists(some.tuples(TEXT, some.lists(some.integers(0, 5), unique=True, max_size=3)), max_size=5)


def read(dialect: str, record: Line) -> Answer:
    """The answer on a line."""
    reader = LineReader(DIALECTS[dialect])
    found = reader.read(1, record, "")
    assert found is not None, reader.findings.errors
    return found.answer


def cites(dialect: str, places: list[int], references: list[str], confidence: list[float]) -> Any:
    """Places among the references in the way that the dialect cites."""
    if dialect == "report":
        return {references[place]: confidence[place] for place in places}
    if dialect == "rag26":
        return [place if place % 2 else references[place] for place in places]
    return [references[place] for place in places] if dialect == "rag25" else places


@given(
    some.sampled_from(list(LINES)),
    SEGMENTS,
    some.lists(DOCNO, unique=True, min_size=6, max_size=6),
    some.lists(some.floats(0, 1), min_size=6, max_size=6),
)
def test_segments_and_citations_are_kept(
    dialect: str, segments: list[tuple[str, list[int]]], references: list[str], confidence: list[float]
) -> None:
    """Run, topic, segments, citations in order with their confidences, and references."""
    record = line(dialect, "references", references)
    record.pop("responses", None)
    record["answer"] = [
        {"text": text, "citations": cites(dialect, places, references, confidence)}
        for text, places in segments
    ]
    sent = read(dialect, record)
    written = json.loads(as_report(sent, "team"))
    assert recognised(written) is REPORT
    assert read("report", written) == sent
    assert [[one.docno for one in segment.citations] for segment in sent.segments] == [
        _in_order(
            [references[place] for place in places], dialect, dict(zip(references, confidence, strict=True))
        )
        for _, places in segments
    ]


def _in_order(docnos: list[str], dialect: str, confidence: dict[str, float]) -> list[str]:
    return sorted(docnos, key=lambda docno: -confidence[docno]) if dialect == "report" else docnos
