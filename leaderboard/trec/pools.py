"""Pool files: the documents of each topic that are to be judged, in NIST's form, CSV or JSON lines."""

import csv
import io
import json
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from leaderboard.errors import Problem
from leaderboard.tables.record import cell, text_of_cell
from leaderboard.trec.read.entries import ID_BYTES, hidden_entries, unfit_text
from leaderboard.trec.read.lines import (
    DEFAULT_LIMITS,
    Limits,
    Problems,
    bytes_of,
    has_bare_cr,
    raw_lines,
    shown,
)

FORMS = ("nist", "csv", "jsonl")
"""NIST: `topic docno` in byte order. The others keep the order of judging and why a document is there."""
COLUMNS = ("topic", "docno", "priority", "stratum", "probability")

_UNFIT = re.compile("[\x00-\x1f\x7f\ud800-\udfff]")
"""Characters that JSON can write but a database, or a column of a run, cannot hold."""


class Pooled(NamedTuple):
    """A document of a pool: higher priorities are judged sooner; probability is that of being drawn."""

    docno: str
    priority: float = 0.0
    stratum: str = ""
    probability: float = 1.0


Pool = Mapping[str, Sequence[Pooled]]
"""Topic -> its documents, in the order they are to be judged."""


def read_pool(path: Path, limits: Limits = DEFAULT_LIMITS) -> dict[str, list[Pooled]]:
    """The pool in a file: `topic docno` by line, CSV with a header, or JSON lines; topics in its order.

    CSV and JSON lines have the fields topic, docno, priority, stratum and probability, the first two are
    required and others are ignored. Blank lines and `#` comments are skipped. Without priorities documents
    keep the order of the file. The apostrophe that keeps a spreadsheet from running a cell of CSV is removed.
    Raises Invalid with up to 25 problems.
    """
    reader = _Reader()
    for number, line in raw_lines(path, limits):
        if line.startswith(b"#"):
            reader.pass_over(number, line)
        elif line.strip():
            reader.add(number, line)
    return reader.pool()


def as_text(pool: Pool, form: str) -> Iterator[str]:
    """The pool as a file of a form of FORMS, in pieces; NIST's does not record where a document came from.

    >>> "".join(as_text({"1": [Pooled("d9", 2.0), Pooled("d10", 1.0)]}, "nist"))
    '1 d10\\n1 d9\\n'
    """
    return {"nist": _nist, "csv": _csv, "jsonl": _jsonl}[form](pool)


def _nist(pool: Pool) -> Iterator[str]:
    for topic in sorted(pool, key=bytes_of):
        docnos = sorted((document.docno for document in pool[topic]), key=bytes_of)
        yield "".join(f"{topic} {docno}\n" for docno in docnos)


def _csv(pool: Pool) -> Iterator[str]:
    yield ",".join(COLUMNS) + "\r\n"
    for topic, documents in pool.items():
        text = io.StringIO()
        rows = ([cell(value) for value in (topic, *document)] for document in documents)
        csv.writer(text, lineterminator="\r\n").writerows(rows)
        yield text.getvalue()


def _jsonl(pool: Pool) -> Iterator[str]:
    for topic, documents in pool.items():
        rows = ({"topic": topic, **document._asdict()} for document in documents)
        yield "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)


class _Reader:
    """Collects a pool line by line; the first line decides its form."""

    def __init__(self) -> None:
        self.problems = Problems("pool file")
        self.form = ""
        self.header: list[str] = []
        self.documents: dict[str, list[Pooled]] = {}
        self.seen: set[tuple[str, str]] = set()

    def pass_over(self, number: int, line: bytes) -> None:
        """Check a comment, which must not hide documents."""
        if problem := _bare_cr(number, line):
            self.problems.add(problem)

    def add(self, number: int, line: bytes) -> None:
        """Add a line that is neither blank nor a comment."""
        if problem := unfit_text(number, line) or _bare_cr(number, line):
            self.problems.add(problem)
            return
        text = line.decode().strip()
        if not self.form and self._is_header(text):
            return
        fields = self._fields(number, text)
        if fields is not None:
            self._take(number, fields)

    def pool(self) -> dict[str, list[Pooled]]:
        """The pool of all lines added; raises Invalid where there were problems."""
        if not self.documents and not self.problems.found:
            self.problems.add(Problem("The file has no documents.", "Write one line each: topic docno."))
        self.problems.stop()
        for documents in self.documents.values():
            documents.sort(key=lambda document: -document.priority)
        return self.documents

    def _is_header(self, text: str) -> bool:
        """Whether this first line is CSV's header; it decides the form whether or not it is."""
        if text.startswith("{"):
            self.form = "jsonl"
            return False
        header = [name.strip().lower() for name in _cells(text) or ()]
        self.form = "csv" if {"topic", "docno"} <= set(header) else "nist"
        self.header = header
        return self.form == "csv"

    def _fields(self, number: int, text: str) -> dict[str, object] | None:
        if self.form == "nist":
            parts = text.split()
            if len(parts) == 2:
                return {"topic": parts[0], "docno": parts[1]}
            rule = f"A line of a pool has two fields (topic docno); this line has {len(parts)}."
            remedy = "CSV needs a header with topic and docno." if "," in text else "Separate them by blanks."
            self.problems.add(Problem(rule, remedy, number, "", shown(text)))
            return None
        if self.form == "csv":
            row = _cells(text)
            if row is not None and len(row) == len(self.header):
                return dict(zip(self.header, map(text_of_cell, row), strict=True))
            rule = "The row cannot be read."
            if row is not None:
                rule = f"The header has {len(self.header)} columns; this line has {len(row)}."
            self.problems.add(Problem(rule, "Check commas and quotes.", number, "", shown(text)))
            return None
        return self._object(number, text)

    def _object(self, number: int, text: str) -> dict[str, object] | None:
        try:
            fields = json.loads(text)
        except (ValueError, RecursionError):
            fields = None
        if isinstance(fields, dict):
            return fields
        rule = "Every line is one JSON object."
        self.problems.add(Problem(rule, 'Write {"topic": ..., "docno": ...}.', number, "", shown(text)))
        return None

    def _take(self, number: int, fields: Mapping[str, object]) -> None:
        topic, docno = (self._name(number, name, fields.get(name)) for name in ("topic", "docno"))
        priority = self._number(number, "priority", fields.get("priority"), 0.0, -math.inf, math.inf)
        chance = self._number(number, "probability", fields.get("probability"), 1.0, 0.0, 1.0)
        if topic is None or docno is None or priority is None or chance is None:
            return
        if (topic, docno) in self.seen:
            rule = f"Topic {shown(topic)} has this document already."
            self.problems.add(Problem(rule, "Keep one of the two lines.", number, "docno", shown(docno)))
            return
        self.seen.add((topic, docno))
        stratum = _UNFIT.sub("", str(fields.get("stratum") or ""))[:40]
        self.documents.setdefault(topic, []).append(Pooled(docno, priority, stratum, chance))

    def _name(self, number: int, name: str, value: object) -> str | None:
        text = str(value).strip() if isinstance(value, str | int) and not isinstance(value, bool) else ""
        if len(text.split()) == 1 and not _UNFIT.search(text) and len(text.encode()) <= ID_BYTES:
            return text
        rule = f"A {name} is one word of at most {ID_BYTES} bytes."
        self.problems.add(Problem(rule, "Check the columns.", number, name, shown(text)))
        return None

    def _number(
        self, number: int, name: str, value: object, default: float, low: float, high: float
    ) -> float | None:
        if value is None or value == "":
            return default
        try:
            amount = float(value) if isinstance(value, str | int | float) else math.nan
        except (ValueError, OverflowError):
            amount = math.nan
        is_positive = amount > 0 or name != "probability"
        if math.isfinite(amount) and low <= amount <= high and is_positive:
            return amount
        rule = (
            "A probability is over 0 and at most 1." if name == "probability" else "A priority is a number."
        )
        self.problems.add(Problem(rule, "Leave it empty if unknown.", number, name, shown(str(value))))
        return None


def _bare_cr(number: int, line: bytes) -> Problem | None:
    return hidden_entries(number, line) if has_bare_cr(line) else None


def _cells(text: str) -> list[str] | None:
    """The cells of a line of CSV, None where it is none: a cell may be too long for the reader."""
    try:
        return next(csv.reader([text]))
    except csv.Error:
        return None
