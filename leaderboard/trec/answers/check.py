"""The check of a file of answers: one report for a site and for the command line, in one pass."""

import re
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

from leaderboard.errors import Invalid, Problem, TooLarge
from leaderboard.trec.answers.counting import COUNTS, UNIT_WORDS, Over, Unit, cut
from leaderboard.trec.answers.dialects import Dialect
from leaderboard.trec.answers.findings import Enough, Findings
from leaderboard.trec.answers.packages import opened
from leaderboard.trec.answers.reading import AnswerLine, LineReader
from leaderboard.trec.answers.record import Answer
from leaderboard.trec.answers.topics import AnswerTopic
from leaderboard.trec.read.json_objects import LONG_LINES, Fault, object_of
from leaderboard.trec.read.lines import numbered_lines, shown
from leaderboard.trec.runs.check import Report
from leaderboard.trec.topics.names import TopicNames

NAMED = 20
"""How many topics a message names."""
MOST_TOPICS = 100_000
"""Topics of a file, all of which are remembered; the largest tasks have 7,000."""


@dataclass(frozen=True)
class AnswerRules:
    """What a task asks of a file of answers.

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
    """What is known of the file so far."""

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
        """Look at every line, then at what is missing."""
        for number, line in numbered_lines(path, LONG_LINES):
            if line.strip():
                self._line(number, line)
        if not self.lines and not self._findings.errors:
            self._findings.error(
                Problem("The file has no answers.", "Write one JSON object a topic, each on a line.")
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
        """What one line alone does not tell: its run, and whether its topic is new and known."""
        find = self.reader.find
        if self.facts.run and answer.run != self.facts.run:
            rule = f"The lines before are of the run {shown(self.facts.run)}; a file is one run."
            find("tag", rule, "Send each run as a file of its own.", "run_id", answer.run)
        first = self.lines.setdefault(answer.topic, number)
        if len(self.lines) > MOST_TOPICS:
            rule = f"The file answers more than {MOST_TOPICS:,} topics."
            self._findings.error(Problem(rule, "Send the task's topics only.", number))
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
                rule = f"References match {self._pattern.pattern} as a whole."
                remedy = "Check that the run is of this collection."
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
        remedy = "They score 0." if severity == "warning" else "Answer them; a subset has to be asked for."
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
        """Count an answer as it was sent, and as it counts after it was cut."""
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
