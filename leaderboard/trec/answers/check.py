"""Check of a file of answers in one pass, with one report for site and command line."""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import chain
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

from leaderboard.errors import MAX_PROBLEMS, Invalid, Problem, TooLarge
from leaderboard.trec.answers.dialects import Dialect, Finding
from leaderboard.trec.answers.packages import opened
from leaderboard.trec.answers.record import (
    COUNTS,
    UNIT_WORDS,
    Answer,
    AnswerTopic,
    Citation,
    Over,
    Segment,
    Unit,
    cut,
)
from leaderboard.trec.read.json_objects import (
    LONG_LINES,
    Fault,
    id_value,
    kind_of,
    list_in,
    number_value,
    object_in,
    object_of,
    required,
    text_in,
    text_value,
)
from leaderboard.trec.read.lines import numbered_lines, shown
from leaderboard.trec.runs.check import EXAMPLES, Report
from leaderboard.trec.topics.records import TopicNames


class Enough(Exception):
    """The maximum number of reported errors was reached."""


class Findings:
    """The findings of one file; memory does not grow with how often a warning is met."""

    def __init__(self) -> None:
        self.errors: list[Problem] = []
        self._warnings: dict[str, Problem] = {}

    @property
    def warnings(self) -> tuple[Problem, ...]:
        """One problem for each kind of warning, in the order of the first of each."""
        return tuple(self._warnings.values())

    def found(self, dialect: Dialect, finding: Finding, problem: Problem) -> None:
        """Add a finding as an error or a warning by the dialect; raises Enough with the 25th error."""
        severity = dialect.severity(finding)
        if severity == "error":
            self.error(problem)
        elif severity == "warning":
            self.warn(finding, problem)

    def error(self, problem: Problem) -> None:
        """Keep an error; raises Enough with the 25th."""
        self.errors.append(problem)
        if len(self.errors) >= MAX_PROBLEMS:
            raise Enough

    def warn(self, kind: str, problem: Problem) -> None:
        """Keep a warning, or count it to the first of its kind and field."""
        key = f"{kind} {problem.field}"
        first = self._warnings.get(key)
        if first is None:
            self._warnings[key] = replace(problem, examples=(problem.value,) if problem.value else ())
            return
        examples = first.examples
        if problem.value and problem.value not in examples and len(examples) < EXAMPLES:
            examples = (*examples, problem.value)
        self._warnings[key] = replace(first, count=first.count + 1, examples=examples)


TYPES = ("manual", "automatic")
OPTIONAL = ("narrative", "prompt", "type")
"""Fields that TREC RAG 2025 requests but does not require."""


@dataclass(frozen=True)
class AnswerLine:
    """An answer, with the parts of its line that checks of the whole file need.

    official: the topic's text in the line, None if absent; stated: the length it claims.
    """

    answer: Answer
    official: str | None = None
    stated: int | None = None


@dataclass
class LineReader:
    """Reads the lines of one file and records findings by the dialect's table."""

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
        """The references in order, numbers as text; None if absent in a dialect that does not need one."""
        if "references" not in record and self.dialect.severity("no references") != "error":
            rule = "The line has no references; the cited documents are used instead."
            self.find("no references", rule, "List the documents the answer rests on.", "references")
            return None
        references = tuple(id_value(reference, "references") for reference in list_in(record, "references"))
        seen: set[str] = set()
        for docno in references:
            if docno in seen:
                rule = "The document is among the references twice."
                self.find("reference twice", rule, "List each document once.", "reference", docno)
            seen.add(docno)
        most = self.dialect.most_references
        if most is not None and len(references) > most:
            rule = f"An answer has at most {most} references; this one has {len(references):,}."
            remedy = "Remove the last ones and the citations of them."
            if self.dialect.severity("too many references") == "warning":
                remedy = f"The first {most} are kept; citations of the others are dropped."
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
    """The value of `answer` or `responses`, which mean the same; raises Fault where they differ."""
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
    ids = {key: id_value(facts[key], f"{dialect.within}{key}") for key in keys if key in facts}
    if not dialect.top_level and "topic_id" in record:
        ids["topic_id of the line"] = id_value(record["topic_id"], "topic_id")
    if len(set(ids.values())) > 1:
        names = " and ".join(ids)
        raise Fault(f"{names} name different topics.", "Keep one.", "topic", shown(", ".join(ids.values())))
    topic = next((ids[key] for key in dialect.topic_keys if key in ids), None)
    if topic is None:
        required(facts, dialect.topic_keys[0], dialect.within)
    return str(topic)


class _Form(NamedTuple):
    """A form of citation as text, and the remedy for other forms."""

    words: str
    remedy: str


_POSITIONS = _Form("positions among the references, from 0", "Write whole numbers such as 0.")
_DOCNOS = _Form("document ids", 'Write ids between quotes, such as "d4".')
_EITHER = _Form("positions among the references, or document ids", 'Write 0, or "d4" between quotes.')


@dataclass
class CitedLine:
    """The references of one line, to which its citations refer.

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
        """Citation format of this dialect."""
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
                "The answer cites both by position and by document id.",
                "Use only one of the two.",
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
    """The citations that are kept: those of references beyond the limit are dropped, others resolved."""
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


NAMED = 20
"""Maximum number of topics that a message names."""
MOST_TOPICS = 100_000
"""Topics of a file, all remembered; the largest tasks have 7,000."""


@dataclass(frozen=True)
class AnswerRules:
    """The rules of a task for a file of answers.

    topics: those it may answer, None for any; dialects: those allowed, empty for all; limit, unit, over: how
    long an answer may be, how that is counted and what happens beyond, None for the dialect's own;
    docno_pattern: a regular expression for whole references; subset: it need not answer all topics.
    """

    topics: Mapping[str, AnswerTopic] | None = None
    dialects: tuple[str, ...] = ()
    limit: int | None = None
    unit: Unit | None = None
    over: Over | None = None
    docno_pattern: str | None = None
    subset: bool = False


def check_answers(path: Path, rules: AnswerRules, keep: Callable[[Answer], None] | None = None) -> Report:
    """The report on a file; never raises Invalid or TooLarge. Memory is that of its longest line.

    keep is given every answer as it counts, cut where the rules say so. Reading stops at 25 errors.
    """
    findings = Findings()
    try:
        with opened(path, rules.dialects) as (lines, dialect):
            check = _Check(rules, dialect, findings, keep)
            check.read(lines)
    except Enough:
        return Report(tuple(findings.errors), findings.warnings)
    except Invalid as error:
        return Report((*findings.errors, *(error.problems or (Problem(error.message),))), findings.warnings)
    except TooLarge as error:
        return Report((*findings.errors, Problem(error.message)), findings.warnings)
    facts = check.facts.as_json(dialect, check.unit) if check.lines else {}
    return Report(tuple(findings.errors), findings.warnings, facts)


class _Check:
    """The state of the check of a file."""

    def __init__(
        self, rules: AnswerRules, dialect: Dialect, findings: Findings, keep: Callable[[Answer], None] | None
    ) -> None:
        self.reader = LineReader(dialect, findings)
        self.facts = AnswerFacts()
        self.lines: dict[str, int] = {}
        self.unit: Unit = rules.unit or dialect.unit
        self._rules, self._dialect, self._findings, self._keep = rules, dialect, findings, keep
        self._over: Over = rules.over or dialect.over
        self._names = None if rules.topics is None else TopicNames(list(rules.topics))
        self._pattern = re.compile(rules.docno_pattern) if rules.docno_pattern else None

    def read(self, path: Path) -> None:
        """Check every line, then missing parts."""
        for number, line in numbered_lines(path, LONG_LINES):
            if line.strip():
                self._line(number, line)
        if not self.lines and not self._findings.errors:
            self._findings.error(
                Problem("The file has no answers.", "Write one JSON object per topic, one per line.")
            )
        self._missing()

    def _line(self, number: int, line: str) -> None:
        self.reader.number = number
        try:
            record = object_of(line)
        except Fault as fault:
            self.reader.find("form", fault.rule, fault.remedy, fault.field, fault.value)
            return
        read = self.reader.read(number, record, line)
        if read is None:
            return
        self._whole_file(read.answer, number)
        self._texts(read)
        self._docnos(read.answer)
        fitting = self._fitting(read)
        self.facts.add(read.answer, fitting, self.unit)
        if self._keep is not None:
            self._keep(fitting)

    def _whole_file(self, answer: Answer, number: int) -> None:
        """Check the line against the whole file: its run, and whether its topic is new and known."""
        find = self.reader.find
        if self.facts.run and answer.run != self.facts.run:
            rule = f"The earlier lines belong to the run {shown(self.facts.run)}; a file contains one run."
            find("tag", rule, "Submit each run as a separate file.", "run_id", answer.run)
        first = self.lines.setdefault(answer.topic, number)
        if len(self.lines) > MOST_TOPICS:
            rule = f"The file answers more than {MOST_TOPICS:,} topics."
            self._findings.error(Problem(rule, "Submit only topics of the task.", number))
            raise Enough
        if first != number:
            find("topic twice", f"The topic is on line {first} already.", "Keep one.", "topic", answer.topic)
        if self._names is not None and answer.topic not in self._names:
            meant = self._names.meant(answer.topic)
            remedy = f"Did you mean {shown(meant)}?" if meant else f"There are {self._names.examples()}, ..."
            find("unknown topic", "The task does not have this topic.", remedy, "topic", answer.topic)

    def _texts(self, read: AnswerLine) -> None:
        """The topic's official text, and the length that the line claims."""
        topic = (self._rules.topics or {}).get(read.answer.topic)
        official = [text.strip() for text in topic.texts] if topic else []
        if official and read.official is not None and read.official.strip() not in official:
            name = f"{self._dialect.within}{self._dialect.official}"
            rule = f"{name} is not the topic's official text: {shown(official[0])!r}."
            self.reader.find("topic text", rule, "Copy it exactly.", name, read.official)
        if read.stated is not None and read.stated != (counted := COUNTS["nfkc-words"](read.answer.texts)):
            rule = f"response_length is not the counted length, which is {counted:,} words."
            self.reader.find("response length", rule, "It is not used.", "response_length", str(read.stated))

    def _docnos(self, answer: Answer) -> None:
        if self._pattern is None:
            return
        for docno in answer.references:
            if not self._pattern.fullmatch(docno):
                rule = f"References must match {self._pattern.pattern} as a whole."
                remedy = "Check that the run is for this collection."
                self.reader.find("docno pattern", rule, remedy, "reference", docno)

    def _fitting(self, read: AnswerLine) -> Answer:
        """The answer as it counts: whole, or cut to the limit."""
        answer = read.answer
        topic = (self._rules.topics or {}).get(answer.topic)
        limit = topic.limit if topic and topic.limit is not None else self._rules.limit
        limit = self._dialect.limit if limit is None else limit
        length = COUNTS[self.unit](answer.texts)
        if limit is None or length <= limit:
            return answer
        kept = cut(answer, limit, self.unit) if self._over == "cut" else answer
        remedy = "Shorten it."
        if self._over == "cut":
            remedy = f"Its first {len(kept.segments)} of {len(answer.segments)} segments are kept."
        rule = f"The answer has {length:,} {UNIT_WORDS[self.unit]}; at most {limit:,} are allowed."
        problem = Problem(rule, remedy, self.reader.number, "topic", shown(answer.topic))
        if self._over == "refuse":
            self._findings.error(problem)
        else:
            self._findings.warn("too long", problem)
        return kept

    def _missing(self) -> None:
        missing = [topic for topic in self._rules.topics or () if topic not in self.lines]
        self.facts.missing = len(missing)
        if not missing or self._rules.subset:
            return
        named = ", ".join(map(shown, missing[:NAMED]))
        more = f" and {len(missing) - NAMED:,} more" if len(missing) > NAMED else ""
        noun = "topic" if len(missing) == 1 else "topics"
        severity = self._dialect.severity("no answer")
        remedy = (
            "They score 0."
            if severity == "warning"
            else "Answer them all; a run on a subset must be requested as one."
        )
        rule = f"There is no answer for {len(missing):,} {noun} ({named}{more})."
        self._findings.found(self._dialect, "no answer", Problem(rule, remedy))


class AnswerFacts:
    """Counts of the answers of one file, added up one by one."""

    def __init__(self) -> None:
        self.run = ""
        self.missing = 0
        self._counts: Counter[str] = Counter()
        self._lengths: list[int] = []

    def add(self, sent: Answer, counted: Answer, unit: Unit) -> None:
        """Count an answer as submitted, and as it counts after it was cut."""
        self.run = self.run or sent.run
        self._lengths.append(COUNTS[unit](sent.texts))
        cited = [len(segment.citations) for segment in sent.segments]
        self._counts.update(
            answers=1,
            segments=len(cited),
            citations=sum(cited),
            uncited=cited.count(0),
            references=len(sent.references),
            cut=int(len(counted.segments) < len(sent.segments)),
            empty=int(not counted.text),
        )

    def as_json(self, dialect: Dialect, unit: Unit) -> dict[str, Any]:
        """The facts as plain values: counts, and the least, median and greatest length in the unit."""
        lengths = self._lengths or [0]
        names = ("answers", "segments", "citations", "uncited", "references", "cut", "empty")
        return {
            "run": self.run,
            "dialect": dialect.name,
            **{name: self._counts[name] for name in names},
            "missing": self.missing,
            "length": {
                "unit": unit,
                "min": min(lengths),
                "median": float(median(lengths)),
                "max": max(lengths),
            },
        }
