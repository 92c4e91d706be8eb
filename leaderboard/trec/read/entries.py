"""The rules one line of a run obeys, and the careful reading that says which line breaks which."""

import re
from collections.abc import Collection
from dataclasses import dataclass
from typing import Never

from leaderboard.errors import Problem
from leaderboard.trec.read.forms import is_comment
from leaderboard.trec.read.lines import (
    OLD_MAC,
    Limits,
    Problems,
    Source,
    has_bare_cr,
    raw_lines,
    shown,
    undecodable,
)

ID_BYTES = 255
LOOSE_ID_BYTES = 4096
"""trec_eval has no limit; this one keeps an array of docnos at some hundred MB."""
RANK_DIGITS = 15
GRADE_DIGITS = 9
"""Maximum digits of a grade; the database keeps grades as 32-bit numbers."""
SCORE_BYTES = b"0123456789+-.eE"
CONTROL_BYTES = bytes({*range(1, 9), *range(14, 32), 127})

_NUMBER = re.compile(rb"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")
_NOT_FINITE = re.compile(rb"[+-]?(nan|inf|infinity)", re.IGNORECASE)
_FIELDS = {0: "topic", 2: "docno", 5: "tag"}


@dataclass(frozen=True, slots=True)
class Form:
    """Format of a run file: six columns, or MS MARCO's three; strict as for uploads or as trec_eval."""

    columns: int
    strict: bool

    @property
    def id_bytes(self) -> int:
        """The most bytes a topic id, docno or tag may have."""
        return id_bytes(self.strict)

    def fits(self, count: int) -> bool:
        """Whether a line may have this number of fields; trec_eval ignores what follows the sixth."""
        return count == self.columns if self.strict else count >= self.columns


def form_of(fields: list[bytes], strict: bool) -> Form:
    """The form of a file whose first entry has these fields."""
    return Form(3 if strict and len(fields) == 3 and is_rank(fields[2]) else 6, strict)


def id_bytes(strict: bool) -> int:
    """The most bytes a topic id, docno or tag may have."""
    return ID_BYTES if strict else LOOSE_ID_BYTES


def is_rank(text: bytes) -> bool:
    """Whether a field can be MS MARCO's rank: a whole number that a score can hold exactly."""
    return text.isdigit() and len(text) <= RANK_DIGITS


def hides_entries(line: bytes, count: int, columns: int) -> bool:
    """Whether a line with an ignored part, a comment or fields beyond the columns, has a bare CR."""
    return (line.startswith(b"#") or count > columns) and has_bare_cr(line)


def hidden_entries(number: int, line: bytes) -> Problem:
    """The problem of such a line: the text after the CR would be ignored."""
    rule = "The line contains a CR, and the text after it would be ignored."
    return Problem(rule, OLD_MAC, number, "", shown(line))


def unfit_text(number: int, line: bytes) -> Problem | None:
    """The problem of a line that is not storable text: invalid UTF-8, or control characters."""
    try:
        line.decode("utf-8")
    except UnicodeDecodeError as error:
        return undecodable(number, line, error)
    if len(line.translate(None, CONTROL_BYTES)) < len(line):
        rule = "The line contains a control character."
        return Problem(rule, "Remove it; ids are printable text.", number, "", shown(line))
    return None


def explain(
    path: Source, limits: Limits, strict: bool, suspects: Collection[bytes], dialect: int = 10
) -> Never:
    """Raise Invalid with up to 25 problems of a run file that bulk reading could not read.

    suspects: topics known to have a document twice; of other topics only neighbouring lines are compared.
    """
    problems = Problems("run")
    form: Form | None = None
    seen: dict[bytes, dict[bytes, int]] = {}
    current = b""
    for number, line in raw_lines(path, limits):
        fields = [] if is_comment(line, dialect) else line.split()
        if not fields:
            if hides_entries(line, 0, 0):
                problems.add(hidden_entries(number, line))
            continue
        form = form or form_of(fields, strict)
        before = len(problems.found)
        _check_line(problems, form, number, line, fields)
        if len(problems.found) > before:
            continue
        if fields[0] != current:
            if current not in suspects:
                seen.pop(current, None)
            current = fields[0]
        _check_twice(problems, form, number, fields, seen.setdefault(current, {}))
    if form is None:
        problems.add(
            Problem("The file has no entries.", "Write one line per entry: topic Q0 docno rank score tag.")
        )
    problems.stop()
    raise AssertionError("bulk reading refused a file in which no line breaks a rule")


def _check_line(problems: Problems, form: Form, number: int, line: bytes, fields: list[bytes]) -> None:
    if form.strict and (problem := unfit_text(number, line)):
        problems.add(problem)
        return
    if not form.fits(len(fields)):
        problems.add(_wrong_count(form, number, line, fields))
        return
    if hides_entries(line, len(fields), form.columns):
        problems.add(hidden_entries(number, line))
        return
    ids = {0: "topic", 1: "docno"} if form.columns == 3 else _FIELDS
    for place, name in ids.items():
        _check_id(problems, form, number, name, fields[place])
    if form.columns == 3:
        _check_rank(problems, number, fields[2])
    else:
        _check_score(problems, number, fields[4])


def _check_id(problems: Problems, form: Form, number: int, name: str, value: bytes) -> None:
    if len(value) > form.id_bytes:
        rule = f"A {name} has at most {form.id_bytes} bytes; this one has {len(value):,}."
        problems.add(
            Problem(rule, "Check that the columns are separated by blanks.", number, name, shown(value))
        )


def _check_rank(problems: Problems, number: int, rank: bytes) -> None:
    if not is_rank(rank):
        rule = "The third of three columns is the rank, a whole number."
        remedy = "Write topic docno rank, or the six columns topic Q0 docno rank score tag."
        problems.add(Problem(rule, remedy, number, "rank", shown(rank)))


def _check_score(problems: Problems, number: int, score: bytes) -> None:
    if _NOT_FINITE.fullmatch(score):
        rule, remedy = "A score is a finite number.", "Find out why the system gave the document this score."
    elif not _NUMBER.fullmatch(score):
        rule = "A score is a decimal number such as 12.5 or 1.2e-3."
        remedy = "Write a point, not a comma." if b"," in score else "The fifth column is the score."
    elif abs(float(score)) == float("inf"):
        rule, remedy = "The score is too large for a 64-bit number.", "Scale the scores down."
    else:
        return
    problems.add(Problem(rule, remedy, number, "score", shown(score)))


def _check_twice(
    problems: Problems, form: Form, number: int, fields: list[bytes], lines: dict[bytes, int]
) -> None:
    docno = fields[1] if form.columns == 3 else fields[2]
    first = lines.setdefault(docno, number)
    if first != number:
        rule = f"Topic {shown(fields[0])} has this document already on line {first}."
        remedy = "Keep one of the two lines."
        problems.add(Problem(rule, remedy, number, "docno", shown(docno), fix="duplicates"))


def _wrong_count(form: Form, number: int, line: bytes, fields: list[bytes]) -> Problem:
    count = len(fields)
    entry = "topic docno rank" if form.columns == 3 else "topic Q0 docno rank score tag"
    least = "" if form.strict else "at least "
    rule = f"An entry has {least}{form.columns} fields ({entry}); this line has {count}."
    return Problem(rule, _count_remedy(line, fields), number, "", shown(line))


def _count_remedy(line: bytes, fields: list[bytes]) -> str:
    if has_bare_cr(line):
        return OLD_MAC
    if line.lstrip()[:1] in (b"{", b"["):
        return "This is JSON; write plain lines of six columns."
    if len(fields) < 3 and line.count(b",") >= 2:
        return "Separate the fields by blanks or tabs, not by commas."
    if len(fields) == 4 and fields[3].lstrip(b"-").isdigit():
        return "This looks like a judgment; use the run, not the qrels."
    if len(fields) == 5:
        return "Often the second column (Q0) or the tag is missing."
    if len(fields) > 6:
        return "Remove the blanks from docnos and tags."
    return "Add the missing fields."
