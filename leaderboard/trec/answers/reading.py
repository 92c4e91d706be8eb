"""One line of a file to one answer, in a given dialect, with what is wrong or odd about it."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from itertools import chain
from typing import Any, NamedTuple

from leaderboard.errors import Problem
from leaderboard.trec.answers.dialects import Dialect, Finding
from leaderboard.trec.answers.findings import Findings
from leaderboard.trec.answers.record import Answer, Citation, Segment
from leaderboard.trec.read.json_objects import (
    Fault,
    id_value,
    kind_of,
    list_in,
    number_value,
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


class _Form(NamedTuple):
    """A way to cite, in words, and what to write instead of what is not one."""

    words: str
    remedy: str


_POSITIONS = _Form("positions among the references, from 0", "Write whole numbers such as 0.")
_DOCNOS = _Form("document ids", 'Write ids between quotes, such as "d4".')
_EITHER = _Form("positions among the references, or document ids", 'Write 0, or "d4" between quotes.')


@dataclass
class CitedLine:
    """What the citations of one line are read against.

    references: None where the line has none; find: takes finding, rule, remedy, field and value.
    """

    dialect: Dialect
    references: tuple[str, ...] | None
    find: Callable[..., None]
    kinds: set[type] = field(default_factory=set)

    def __post_init__(self) -> None:
        most = self.dialect.most_references
        self.known = frozenset(self.references or ())
        self.dropped = self.known - frozenset((self.references or ())[:most])

    @property
    def form(self) -> _Form:
        """How this dialect cites."""
        if self.dialect.positions and self.dialect.docnos:
            return _EITHER
        return _POSITIONS if self.dialect.positions else _DOCNOS


def citations_of(line: CitedLine, given: Any, segment: int) -> tuple[Citation, ...]:
    """A segment's citations, strongest first, each document once; raises Fault where the form is wrong."""
    if isinstance(given, dict) and line.dialect.maps:
        cited: Iterable[Citation] = _by_confidence(given)
    elif isinstance(given, list):
        cited = list(_listed(line, given, segment))
    else:
        also = " or an object" if line.dialect.maps else ""
        raise Fault(
            f"citations must be a list{also}, not {kind_of(given)}.",
            line.form.remedy,
            "segment",
            str(segment),
        )
    most = line.dialect.most_citations
    if most is not None and len(given) > most:
        rule = f"A segment cites at most {most} documents; segment {segment} (from 0) cites {len(given)}."
        line.find("too many citations", rule, "Keep the strongest.", "citations", str(len(given)))
    return tuple(_once(line, _known(line, cited, segment), segment))


def _by_confidence(given: dict[str, Any]) -> list[Citation]:
    """A map's documents by confidence descending, equal ones in the file's order."""
    cited = [
        Citation(id_value(docno, "citation"), number_value(value, "confidence"))
        for docno, value in given.items()
    ]
    return sorted(cited, key=lambda citation: -(citation.confidence or 0.0))


def _listed(line: CitedLine, given: list[Any], segment: int) -> Iterator[Citation]:
    for value in given:
        is_position = isinstance(value, int) and not isinstance(value, bool)
        allowed = line.dialect.positions if is_position else line.dialect.docnos and isinstance(value, str)
        if not allowed:
            raise Fault(
                f"Citations are {line.form.words}, not {kind_of(value)}.",
                line.form.remedy,
                "citation",
                shown(str(value)),
            )
        line.kinds.add(type(value))
        if len(line.kinds) > 1 and not line.dialect.mixed:
            raise Fault(
                "The answer cites by positions and by document ids.",
                "Use one of them.",
                "citation",
                shown(str(value)),
            )
        if not is_position:
            yield Citation(id_value(value, "citation"))
        elif 0 <= value < len(line.references or ()):
            yield Citation((line.references or ())[value])
        else:
            count = len(line.references or ())
            rule = f"Segment {segment} (from 0) cites a position that the {count} references do not have."
            line.find("unknown citation", rule, "Count references from 0.", "citation", str(value))


def _known(line: CitedLine, cited: Iterable[Citation], segment: int) -> Iterator[Citation]:
    """The citations that stay: those of references beyond the most are dropped, others looked for."""
    for citation in cited:
        if citation.docno in line.dropped:
            continue
        if line.references is not None and citation.docno not in line.known:
            rule = f"Segment {segment} (from 0) cites a document that is not among the references."
            remedy = "Add it to the references, or leave it out."
            line.find("unknown citation", rule, remedy, "citation", citation.docno)
        yield citation


def _once(line: CitedLine, cited: Iterable[Citation], segment: int) -> Iterator[Citation]:
    seen: set[str] = set()
    for citation in cited:
        if citation.docno in seen:
            rule = f"Segment {segment} (from 0) cites the document twice; its first place counts."
            line.find("cited twice", rule, "Cite each document once.", "citation", citation.docno)
        else:
            seen.add(citation.docno)
            yield citation
