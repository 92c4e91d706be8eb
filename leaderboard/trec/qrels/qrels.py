"""Judgment files to grades by topic: TREC's four columns, BEIR's table, NTCIR's grades."""

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from leaderboard.errors import MAX_PROBLEMS, Invalid, Problem
from leaderboard.trec.read.entries import GRADE_DIGITS, ID_BYTES, hidden_entries, hides_entries, unfit_text
from leaderboard.trec.read.forms import USUAL, Asked, is_beir, is_comment, is_entry, skipped
from leaderboard.trec.read.lines import (
    BOM_NOTE,
    DEFAULT_LIMITS,
    OLD_MAC,
    Limits,
    Problems,
    Source,
    has_bare_cr,
    raw_lines,
    shown,
    starts_with_mark,
    text_of,
)
from leaderboard.trec.read.usual import unnumbered, usual

SECOND_COLUMNS = ("", "subtopics", "rounds")
"""Meaning of the second column: as the file shows, or as its sender states (rounds: it is ignored)."""
LABELS_NAMED = 10

_GRADE = re.compile(rb"[+-]?\d{1,%d}|L\d" % GRADE_DIGITS)

Fields = tuple[bytes, bytes, bytes, bytes]
"""Topic, subtopic, docno and grade as written."""


@dataclass(frozen=True, eq=False)
class Qrels:
    """The judgments of a file, topics in its order.

    judgments: topic -> docno -> grade, of several subtopics the highest; subtopics: topic ->
    subtopic -> docno -> grade, {} unless kind is 'subtopic'; notes are oddities seen while reading;
    guessed are words for grades that were given numbers unasked, each as WORD=NUMBER.
    """

    judgments: dict[str, dict[bytes, int]]
    kind: str
    notes: tuple[Problem, ...] = ()
    subtopics: dict[str, dict[str, dict[bytes, int]]] = field(default_factory=dict)
    guessed: tuple[str, ...] = ()

    def entries(self) -> Iterator[tuple[str, str, bytes, int]]:
        """Every judgment as (topic, subtopic, docno, grade); subtopic is '' in graded qrels."""
        if self.kind == "graded":
            parts = {topic: {"": grades} for topic, grades in self.judgments.items()}
        else:
            parts = self.subtopics
        for topic, by_subtopic in parts.items():
            for subtopic, grades in by_subtopic.items():
                for docno, grade in grades.items():
                    yield topic, subtopic, docno, grade

    def grades(self) -> dict[int, int]:
        """Number of judgments by grade, lowest grade first."""
        return dict(sorted(Counter(entry[3] for entry in self.entries()).items()))


def read_qrels(
    path: Source, limits: Limits = DEFAULT_LIMITS, second: str = "", asked: Asked = USUAL
) -> Qrels:
    """The judgments in a file: `topic iteration docno grade`, or another form that `usual` knows.

    Blank lines and `#` comments are skipped, negative grades kept. The qrels are of kind 'subtopic'
    where second says so or, second being empty, some document of a topic has several values in the second
    column. Raises Invalid with up to 25 problems.
    """
    if second not in SECOND_COLUMNS:
        raise Invalid(f"The second column is `subtopics` or `rounds`, not {shown(second)!r}.")
    source = usual(path, "qrels", limits, asked)
    reader = _Reader(second, asked.dialect)
    with unnumbered(source):
        for number, line in raw_lines(source, limits):
            if reader.is_comment(line):
                reader.pass_over(number, line)
            elif line.strip():
                reader.add(number, line)
        if reader.conflicts:
            reader.add_conflicts(source, limits)
        qrels = reader.qrels()
    mark = [BOM_NOTE] if starts_with_mark(path, limits) else []
    notes = (*mark, *getattr(source, "notes", ()), *qrels.notes)
    return replace(qrels, notes=notes, guessed=getattr(source, "guessed", ()))


class _Reader:
    """Collects judgments line by line."""

    def __init__(self, second: str, dialect: int) -> None:
        self.second = second
        self.dialect = dialect
        self.comments: list[tuple[int, bytes]] = []
        self.problems = Problems("qrels file")
        self.tabs = False
        self.columns = 0
        self.grades: dict[bytes, dict[bytes, dict[bytes, int]]] = {}
        self.conflicts: dict[tuple[bytes, ...], tuple[int, int, int]] = {}
        self.doubled: Problem | None = None

    def is_comment(self, line: bytes) -> bool:
        """Whether a line is not a judgment because it begins with `#`."""
        return is_comment(line, self.dialect, fields=4)

    def pass_over(self, number: int, line: bytes) -> None:
        """Count a comment, which must not hide judgments."""
        self.comments.append((number, line[:200]))
        if hides_entries(line, 0, 0):
            self.problems.add(hidden_entries(number, line))

    def add(self, number: int, line: bytes) -> None:
        """Add a line that is neither blank nor a comment."""
        if not self.columns and self._is_header(line):
            return
        fields = self._fields(number, line)
        if fields is None:
            return
        topic, subtopic, docno, text = fields
        grade = int(text.removeprefix(b"L"))
        given = self.grades.setdefault(topic, {}).setdefault(subtopic, {})
        before = given.get(docno)
        if before is None:
            given[docno] = grade
        elif before != grade:
            if len(self.conflicts) < MAX_PROBLEMS:
                self.conflicts.setdefault((topic, subtopic, docno), (number, before, grade))
        elif self.doubled is None:
            rule = "The judgment is listed twice."
            self.doubled = Problem(rule, "It was counted once.", number, "docno", shown(docno))

    def add_conflicts(self, path: Source, limits: Limits) -> None:
        """Make a problem of every document graded twice; the file is read again for the first lines."""
        firsts: dict[tuple[bytes, ...], int] = {}
        for number, line in raw_lines(path, limits):
            fields = None if self.is_comment(line) else self._parted(line)
            if fields and fields[:3] in self.conflicts:
                firsts.setdefault(fields[:3], number)
        for key, (number, before, grade) in self.conflicts.items():
            rule = f"Topic {shown(key[0])} has this document already on line {firsts[key]}"
            rule = f"{rule} with grade {before}; here it has {grade}."
            self.problems.add(Problem(rule, "Keep one of the two lines.", number, "docno", shown(key[2])))

    def qrels(self) -> Qrels:
        """The qrels of all lines added; raises Invalid where there were problems."""
        if not self.grades and not self.problems.found:
            remedy = "Write one line each: topic 0 docno grade."
            self.problems.add(Problem("The file has no judgments.", remedy))
        self.problems.stop()
        subtopics = {
            text_of(topic): {text_of(subtopic): grades for subtopic, grades in parts.items()}
            for topic, parts in self.grades.items()
        }
        judgments = {topic: _highest(list(parts.values())) for topic, parts in subtopics.items()}
        notes = () if self.doubled is None else (self.doubled,)
        if self.comments:
            comment = next((each for each in self.comments if is_entry(each[1], 4)), self.comments[0])
            notes = (skipped(len(self.comments), *comment), *notes)
        if self._judges_subtopics(subtopics):
            return Qrels(judgments, "subtopic", notes, subtopics)
        return Qrels(judgments, "graded", (*notes, *_passed_over(subtopics, self.second)))

    def _judges_subtopics(self, parts_of: dict[str, dict[str, dict[bytes, int]]]) -> bool:
        """Whether the second column names subtopics: a document of a topic may then have several."""
        if self.second:
            return self.second == "subtopics"
        return any(
            sum(map(len, parts.values())) > len(set().union(*parts.values())) for parts in parts_of.values()
        )

    def _is_header(self, line: bytes) -> bool:
        """Whether this first line is BEIR's header; from there on tabs alone separate the columns."""
        if not is_beir(line):
            return False
        self.tabs, self.columns = True, 3
        return True

    def _parted(self, line: bytes) -> Fields | None:
        """The fields unchanged, or None where their number is wrong."""
        parts = [part.strip() for part in line.split(b"\t")] if self.tabs else line.split()
        if len(parts) != self.columns:
            return None
        topic, subtopic, docno, grade = parts if self.columns == 4 else (parts[0], b"0", parts[1], parts[2])
        return topic, subtopic, docno, grade

    def _fields(self, number: int, line: bytes) -> Fields | None:
        """The fields of a line that obeys the rules, or None and its problems."""
        if not self.columns:
            self.columns = 3 if len(line.split()) == 3 else 4
        if problem := unfit_text(number, line):
            self.problems.add(problem)
            return None
        fields = self._parted(line)
        if fields is None:
            self.problems.add(self._wrong_count(number, line))
            return None
        before = len(self.problems.found)
        for name, value in zip(("topic", "iteration", "docno"), fields, strict=False):
            if not value or (self.tabs and len(value.split()) > 1) or len(value) > ID_BYTES:
                rule = f"A {name} is one word of at most {ID_BYTES} bytes."
                self.problems.add(Problem(rule, "Check the columns.", number, name, shown(value)))
        if not _GRADE.fullmatch(fields[3]):
            rule = f"A grade is a whole number of at most {GRADE_DIGITS} digits, or L0 to L9."
            remedy = "The last column is the grade."
            self.problems.add(Problem(rule, remedy, number, "grade", shown(fields[3])))
        return fields if len(self.problems.found) == before else None

    def _wrong_count(self, number: int, line: bytes) -> Problem:
        names = "topic docno grade" if self.columns == 3 else "topic iteration docno grade"
        count = len(line.split())
        rule = f"A judgment has {self.columns} fields ({names}); this line has {count}."
        if has_bare_cr(line):
            remedy = OLD_MAC
        elif count == 6:
            remedy = "This looks like a run; use the qrels."
        elif count == 5:
            remedy = "Name the columns: map columns=topic,iteration,docno,-,grade (--map)."
        else:
            remedy = "Separate the fields by tabs." if self.tabs else "Separate the fields by blanks or tabs."
        return Problem(rule, remedy, number, "", shown(line))


def _highest(parts: list[dict[bytes, int]]) -> dict[bytes, int]:
    """The highest grade of each document over all parts."""
    if len(parts) == 1:
        return parts[0]
    highest: dict[bytes, int] = {}
    for grades in parts:
        for docno, grade in grades.items():
            highest[docno] = max(grade, highest.get(docno, grade))
    return highest


def _passed_over(parts_of: dict[str, dict[str, dict[bytes, int]]], second: str) -> tuple[Problem, ...]:
    """The note that a second column with several values in a topic was read as rounds without being asked."""
    if second or all(len(parts) <= 1 for parts in parts_of.values()):
        return ()
    values = sorted({shown(value) for parts in parts_of.values() for value in parts})
    more = f" and {len(values) - LABELS_NAMED:,} more" if len(values) > LABELS_NAMED else ""
    return (rounds_note(", ".join(values[:LABELS_NAMED]) + more),)


def rounds_note(values: str) -> Problem:
    """The note on values of the second column that were read as rounds."""
    rule = f"The second column holds {values}, but no document of a topic has two of them."
    return Problem(
        rule,
        "It was read as rounds. If these are subtopics, set the second column to subtopics.",
        field="iteration",
    )
