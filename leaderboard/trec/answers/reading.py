"""One line of a file to one answer, in a given dialect, with what is wrong or odd about it."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import chain
from typing import Any

from leaderboard.errors import Problem
from leaderboard.trec.answers.citations import CitedLine, citations_of
from leaderboard.trec.answers.dialects import Dialect, Finding
from leaderboard.trec.answers.findings import Findings
from leaderboard.trec.answers.record import Answer, Segment
from leaderboard.trec.read.json_objects import (
    Fault,
    id_value,
    kind_of,
    list_in,
    object_in,
    required,
    text_in,
    text_value,
)
from leaderboard.trec.read.lines import shown

TYPES = ("manual", "automatic")
OPTIONAL = ("narrative", "prompt", "type")
"""What TREC RAG 2025 asks for and goes without."""


@dataclass(frozen=True)
class AnswerLine:
    """An answer as it was read, with what of its line the checks of a whole file need.

    official: the topic's text as the line has it, None where it has none; stated: the length it claims.
    """

    answer: Answer
    official: str | None = None
    stated: int | None = None


@dataclass
class LineReader:
    """Reads the lines of one file; what it finds goes to findings, by the dialect's table."""

    dialect: Dialect
    findings: Findings = field(default_factory=Findings)
    number: int = 0

    def read(self, number: int, record: dict[str, Any], line: str) -> AnswerLine | None:
        """The answer on a line, None where its form is wrong; raises Enough at the 25th error."""
        self.number = number
        try:
            return self._answer(record, line)
        except Fault as fault:
            self.find("form", fault.rule, fault.remedy, fault.field, fault.value)
            return None

    def find(self, finding: Finding, rule: str, remedy: str, name: str = "", value: str = "") -> None:
        """Keep a finding of the present line."""
        self.findings.found(self.dialect, finding, Problem(rule, remedy, self.number, name, shown(value)))

    def _answer(self, record: dict[str, Any], line: str) -> AnswerLine:
        dialect = self.dialect
        facts = record if dialect.top_level else object_in(record, "metadata")
        topic = _topic(record, facts, dialect)
        for key in dialect.required:
            text_in(facts, key, dialect.within)
        run = id_value(facts["run_id"], f"{dialect.within}run_id")
        self._look_at_type(facts)
        references = self._references(record)
        segments = tuple(self._segments(record, references))
        if references is None:
            cited = chain.from_iterable(segment.citations for segment in segments)
            kept = tuple(dict.fromkeys(citation.docno for citation in cited))
        else:
            kept = references[: dialect.most_references]
        stated = required(record, "response_length") if dialect.top_level else None
        if stated is not None and (isinstance(stated, bool) or not isinstance(stated, int)):
            raise Fault(
                f"response_length must be a whole number, not {kind_of(stated)}.",
                "Write the number of words.", "response_length", shown(str(stated)),
            )  # fmt: skip
        official = facts.get(dialect.official) if dialect.official else None
        return AnswerLine(Answer(run, topic, segments, kept, line), official, stated)

    def _look_at_type(self, facts: dict[str, Any]) -> None:
        if self.dialect.severity("type") == "-":
            return
        for key in OPTIONAL:
            if key not in facts:
                self.find("left out", f"metadata.{key} is missing.", "Add it if you can.", f"metadata.{key}")
        if "type" in facts and facts["type"] not in TYPES:
            rule = "metadata.type is neither manual nor automatic."
            self.find("type", rule, "Write one of the two.", "metadata.type", str(facts["type"]))

    def _references(self, record: dict[str, Any]) -> tuple[str, ...] | None:
        """The references in order, numbers as text; None where a dialect that goes without has none."""
        if "references" not in record and self.dialect.severity("no references") != "error":
            rule = "The line has no references; those cited take their place."
            self.find("no references", rule, "List the documents the answer rests on.", "references")
            return None
        references = tuple(id_value(one, "references") for one in list_in(record, "references"))
        seen: set[str] = set()
        for docno in references:
            if docno in seen:
                rule = "The document is among the references twice."
                self.find("reference twice", rule, "List each document once.", "reference", docno)
            seen.add(docno)
        most = self.dialect.most_references
        if most is not None and len(references) > most:
            rule = f"An answer has at most {most} references; this one has {len(references):,}."
            remedy = "Leave out the last ones, and what cites them."
            if self.dialect.severity("too many references") == "warning":
                remedy = f"The first {most} are kept, and citations of the others dropped."
            self.find("too many references", rule, remedy, "references", str(len(references)))
        return references

    def _segments(self, record: dict[str, Any], references: tuple[str, ...] | None) -> Iterator[Segment]:
        line = CitedLine(self.dialect, references, self.find)
        given = _segments_in(record)
        if not given:
            self.find("empty text", "The answer has no segments.", "Answer the topic.", "answer", "[]")
        for place, segment in enumerate(given):
            if not isinstance(segment, dict):
                raise Fault(
                    f"A segment must be an object with text and citations, not {kind_of(segment)}.",
                    'Write {"text": "...", "citations": []}.', "segment", str(place),
                )  # fmt: skip
            text = text_value(required(segment, "text", "answer."), "text")
            if not text.strip():
                rule = f"The text of segment {place} (from 0) is empty."
                self.find("empty text", rule, "Leave the segment out.", "segment", str(place))
            yield Segment(text, citations_of(line, required(segment, "citations", "answer."), place))


def _segments_in(record: dict[str, Any]) -> list[Any]:
    """What stands under `answer` or `responses`, which are the same thing; raises Fault where they differ."""
    if "answer" in record and "responses" in record and record["answer"] != record["responses"]:
        raise Fault(
            "The line has both answer and responses, and they differ.",
            "Keep one of them.",
            "key",
            "responses",
        )
    return list_in(record, "responses" if "responses" in record else "answer")


def _topic(record: dict[str, Any], facts: dict[str, Any], dialect: Dialect) -> str:
    """The topic's id as text: 7 and "7" are one; raises Fault where two keys disagree."""
    keys = ("topic_id", "narrative_id", "request_id")
    found = {key: id_value(facts[key], f"{dialect.within}{key}") for key in keys if key in facts}
    if not dialect.top_level and "topic_id" in record:
        found["topic_id of the line"] = id_value(record["topic_id"], "topic_id")
    if len(set(found.values())) > 1:
        names = " and ".join(found)
        raise Fault(f"{names} name different topics.", "Keep one.", "topic", shown(", ".join(found.values())))
    topic = next((found[key] for key in dialect.topic_keys if key in found), None)
    if topic is None:
        required(facts, dialect.topic_keys[0], dialect.within)
    return str(topic)
