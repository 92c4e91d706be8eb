"""Query logs as CSV or JSON lines: one row for each document that was shown to a user.

Messages never repeat the contents of a row, only its line: a row is about a person, and a misplaced column
may contain what identifies them.
"""

import csv
import json
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, NamedTuple

from leaderboard.errors import Problem, TooLarge
from leaderboard.trec.read.entries import CONTROL_BYTES, ID_BYTES
from leaderboard.trec.read.lines import DEFAULT_LIMITS, Limits, Problems, Source, raw_lines, shown

MAX_ROWS = 5_000_000
"""Rows of one log; a longer one is imported in parts."""
MAX_RANK = 10_000
MILLISECONDS = 1e11
"""A time from here on counts milliseconds: in seconds it would be after the year 5000."""
LATEST = 4_102_444_800.0
"""The year 2100."""

COLUMNS: dict[str, tuple[str, ...]] = {
    "user": ("user", "user_id", "userid", "uid", "anonid", "anon_id"),
    "session": ("session", "session_id", "sessionid", "impression", "impression_id", "serp_id"),
    "topic": ("topic", "topic_id", "qid", "query_id", "queryid"),
    "query": ("query", "query_text", "querytext", "q"),
    "document": ("document", "document_id", "docno", "doc", "doc_id", "docid"),
    "rank": ("rank", "position", "pos"),
    "clicked": ("clicked", "click", "is_click", "is_clicked"),
    "time": ("time", "timestamp", "date", "datetime", "at"),
}
"""Column -> the names it may have, in small letters or capitals."""

_COLUMN_OF = {name: column for column, names in COLUMNS.items() for name in names}
_NEEDED = ("document", "rank", "clicked")
_CLICKED = {
    **dict.fromkeys(("1", "true", "t", "yes", "y"), True),
    **dict.fromkeys(("0", "false", "f", "no", "n"), False),
}
_RANKS = {str(rank): rank for rank in range(1, MAX_RANK + 1)}
_NUMBER = re.compile(r"[0-9]{1,15}(\.[0-9]{1,9})?")
_REMEDIES = {
    "document": f"A docno has 1 to {ID_BYTES} bytes, no blanks and no control characters.",
    "rank": f"A rank is a whole number from 1 to {MAX_RANK:,}.",
    "clicked": "Write 1 or 0, true or false, yes or no.",
    "time": "Write 2026-05-31T23:59:00Z, or seconds or milliseconds since 1970; or leave it empty.",
}


class ClickRow(NamedTuple):
    """One document shown to a user; texts are empty and time is None if absent in the row."""

    line: int
    user: str
    session: str
    topic: str
    query: str
    docno: str
    rank: int
    clicked: bool
    time: float | None
    """Seconds since 1970."""


@dataclass
class ClickLog:
    """A log to be read once, row by row: iterating raises Invalid with up to 25 problems, at the latest
    at the end, and TooLarge after MAX_ROWS rows.

    problems collects errors that the consumer finds in several rows; ignored names
    columns that are not known.
    """

    path: Source
    limits: Limits = DEFAULT_LIMITS
    problems: Problems = field(default_factory=lambda: Problems("click log"))
    ignored: tuple[str, ...] = ()
    rows: int = 0
    _docnos: set[str] = field(default_factory=set)
    _last_time: tuple[str, float | None] = ("", math.nan)
    _line: int = 0

    def __iter__(self) -> Iterator[ClickRow]:
        """The valid rows."""
        for number, cells in self._cells():
            row = self._row(number, cells)
            if row is not None:
                self.rows += 1
                if self.rows > MAX_ROWS:
                    raise TooLarge(f"The log has more than {MAX_ROWS:,} rows; import it in parts.")
                yield row
        if not self.rows and not self.problems.found:
            self.problems.add(Problem("The log has no rows.", "Write one row for each document shown."))
        self.problems.stop()

    def _cells(self) -> Iterator[tuple[int, Mapping[str, str]]]:
        """Line and text by column."""
        lines = self._lines()
        first = next((line for line in lines if line[1].strip()), None)
        if first is None:
            return
        if first[1].lstrip().startswith("{"):
            yield from self._json_cells(first, lines)
        else:
            yield from self._csv_cells(first[1], lines)

    def _lines(self) -> Iterator[tuple[int, str]]:
        for number, line in raw_lines(self.path, self.limits):
            self._line = number
            try:
                yield number, line.decode("utf-8")
            except UnicodeDecodeError:
                self._add("The text is not valid UTF-8.", "Convert the file to UTF-8.", number)

    def _csv_cells(
        self, heading: str, lines: Iterator[tuple[int, str]]
    ) -> Iterator[tuple[int, Mapping[str, str]]]:
        mark = "\t" if "\t" in heading else "," if "," in heading else ";"
        names = [name.strip().strip('"').strip() for name in heading.split(mark)]
        columns = [_COLUMN_OF.get(name.lower(), "") for name in names]
        self.ignored = tuple(shown(name) for name, column in zip(names, columns, strict=True) if not column)
        self._require(columns)
        reader = csv.reader((line for _, line in lines), delimiter=mark, strict=True)
        before = 0
        while True:
            try:
                cells = next(reader, None)
            except csv.Error:
                cells = []
                self._add(
                    "The row cannot be read.", "Put quotes round a whole field, and double them inside."
                )
            number, before, taken = self._line, reader.line_num, reader.line_num - before
            if cells is None:
                return
            if taken > 1:
                self._add("A quote is not closed on its line.", "Close it, or double quotes inside a field.")
            elif cells and len(cells) != len(columns):
                rule = f"The row has {len(cells)} fields; the heading has {len(columns)}."
                self._add(rule, "Quote fields that contain the separator.", number)
            elif cells:
                yield number, dict(zip(columns, map(str.strip, cells), strict=True))

    def _require(self, columns: Sequence[str]) -> None:
        """Raise Invalid where the heading lacks a column or names one twice."""
        named = [column for column in columns if column]
        twice = sorted({column for column in named if named.count(column) > 1})
        if twice:
            self._add(f"Two columns give {' and '.join(twice)}.", "Keep one of them.", 1)
        missing = [name for name in _NEEDED if name not in named]
        if "topic" not in named and "query" not in named:
            missing.insert(0, "topic (or query)")
        if missing:
            rule = f"The heading lacks: {', '.join(missing)}."
            self._add(rule, "Name the columns: user, topic or query, document, rank, clicked, time.", 1)
        self.problems.stop()

    def _json_cells(
        self, first: tuple[int, str], lines: Iterator[tuple[int, str]]
    ) -> Iterator[tuple[int, Mapping[str, str]]]:
        ignored: dict[str, None] = {}
        for number, line in _and_then(first, lines):
            if not line.strip():
                continue
            fields = _json_object(line)
            if fields is None:
                self._add("The line is not a JSON object.", "Write one object per line.", number)
                continue
            cells = {}
            for name, value in fields.items():
                column = _COLUMN_OF.get(name.lower(), "")
                if not column:
                    ignored.setdefault(shown(name))
                    self.ignored = tuple(ignored)[:20]
                    continue
                if column in cells or isinstance(value, list | dict):
                    self._add("The line gives it twice, or as a list or object.", "", number, column)
                cells[column] = _text(value)
            yield number, cells

    def _row(self, number: int, cells: Mapping[str, str]) -> ClickRow | None:
        """The row, or None after reporting its error."""
        docno, clicked = cells.get("document", ""), _CLICKED.get(cells.get("clicked", "").lower())
        rank, time = _RANKS.get(cells.get("rank", "")), self._time(cells.get("time", ""))
        topic, query = cells.get("topic", ""), cells.get("query", "")
        fine = docno in self._docnos or self._is_docno(docno)
        if fine and rank and clicked is not None and time is not None and (topic or query):
            moment = None if math.isnan(time) else time
            user, session = cells.get("user", ""), cells.get("session", "")
            return ClickRow(number, user, session, topic, query, docno, rank, clicked, moment)
        faults = {
            "topic": not (topic or query),
            "document": not fine,
            "rank": rank is None,
            "clicked": clicked is None,
            "time": time is None,
        }
        for column, fault in faults.items():
            if fault:
                self._add(*_rule_of(column, cells), number, column)
        return None

    def _time(self, text: str) -> float | None:
        # The rows of a ranking often have the same time.
        if text != self._last_time[0]:
            self._last_time = text, _time(text)
        return self._last_time[1]

    def _is_docno(self, docno: str) -> bool:
        try:
            raw = docno.encode()
        except UnicodeEncodeError:
            return False
        fine = 0 < len(raw) <= ID_BYTES and len(docno.split()) == 1
        fine = fine and len(raw.translate(None, CONTROL_BYTES + b"\0")) == len(raw)
        if fine:
            self._docnos.add(docno)
        return fine

    def _add(self, rule: str, remedy: str, line: int | None = None, column: str = "") -> None:
        self.problems.add(Problem(rule, remedy, line or self._line, column))


def _rule_of(column: str, cells: Mapping[str, str]) -> tuple[str, str]:
    if column == "topic":
        return "The row names neither a topic nor a query.", "Give a topic id, or the query's text."
    if not cells.get(column):
        return f"The row has no {column}.", _REMEDIES[column]
    return f"The {column} cannot be read.", _REMEDIES[column]


def _and_then(first: tuple[int, str], rest: Iterator[tuple[int, str]]) -> Iterator[tuple[int, str]]:
    yield first
    yield from rest


def _json_object(line: str) -> dict[str, Any] | None:
    try:
        value = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def _text(value: Any) -> str:
    if value is None or isinstance(value, list | dict):
        return ""
    return str(value).strip()


def _time(text: str) -> float | None:
    """Seconds since 1970, NaN where nothing is given, None where it cannot be read.

    >>> _time("1970-01-02T00:00:00Z"), _time("1767225600"), _time("1767225600000"), _time("soon")
    (86400.0, 1767225600.0, 1767225600.0, None)
    """
    if not text:
        return math.nan
    if _NUMBER.fullmatch(text):
        number = float(text)
        seconds = number / 1000 if number >= MILLISECONDS else number
    else:
        try:
            moment = datetime.fromisoformat(text)
        except ValueError:
            return None
        seconds = (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()
    return seconds if 0 <= seconds < LATEST else None
