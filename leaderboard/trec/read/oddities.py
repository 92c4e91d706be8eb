"""Oddities of a run's lines, and the reader of lines too irregular for the kernel."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from leaderboard.errors import Problem
from leaderboard.measures.judged import FloatArray
from leaderboard.trec.read import kernel, metadata
from leaderboard.trec.read.columns import AGAINST, BYTES, COMMENTS, RANK, SECOND, TAGS, Columns
from leaderboard.trec.read.entries import CONTROL_BYTES, SCORE_BYTES, Form, form_of, hides_entries, is_rank
from leaderboard.trec.read.forms import is_comment, is_entry, skipped
from leaderboard.trec.read.kernel import Parsed
from leaderboard.trec.read.lines import shown

TAGS_KEPT = 5
FRUITLESS = 4
"""The number of unsuccessful searches of a block for an oddity that the kernel saw beyond its last topic."""

Column = Sequence[bytes]
"""One field of every entry of a block."""


class Doubtful(Exception):
    """Bulk reading met a line that must be read on its own."""

    def __init__(self, *topics: bytes) -> None:
        super().__init__()
        self.topics = topics


class Entries(NamedTuple):
    """The entries read from a block: their positions in body, and their numbers of bytes and lines."""

    body: bytes | bytearray
    columns: Columns
    consumed: int
    lines: int


@dataclass
class Oddities:
    """Collects a run's tags, comments, and notes on oddities, each with the first line it was seen on."""

    strict: bool
    dialect: int = 10

    def __post_init__(self) -> None:
        self._skipped = 0
        self._example: tuple[int, bytes] = 0, b""
        self._in_header = False
        self.form: Form | None = None
        self.tag = b""
        self.tags: dict[bytes, None] = {}
        self.comments: list[str] = []
        self.notes: dict[str, Problem] = {}
        self._fruitless = 0

    def look(self, body: bytearray, parsed: Parsed, line: int) -> None:
        """Add the kernel's findings in a block that begins on this line of the file."""
        self.form = self.form or Form(6, self.strict)
        if parsed.flags & (BYTES | COMMENTS):
            lines = bytes(body[: parsed.consumed]).split(b"\n")
            self._add_comments(lines, line)
            if self.strict:
                _require_text(self._texts(lines))
        tag = bytes(body[parsed.tag_at : parsed.tag_at + parsed.tag_length])
        several = parsed.flags & TAGS and len(self.tags) < TAGS_KEPT
        odd = parsed.flags & (SECOND | RANK | AGAINST)
        if (several or odd) and parsed.entries and self._fruitless < FRUITLESS:
            before = len(self.notes), len(self.tags)
            numbers, rows = self._rows(bytes(body[: parsed.consumed]).split(b"\n"), line)
            columns: list[Column] = list(zip(*rows, strict=False))
            self._note_columns(numbers, columns, _scores(columns[4]))
            self._fruitless += (len(self.notes), len(self.tags)) == before
        if parsed.entries:
            self.tag = tag
            self._add_tag(tag)

    def read(self, text: bytes, line: int, final: bool) -> Entries:
        """The entries of whole lines of any form; unless final, the last topic is left for the next time."""
        if b"\0" in text:
            raise Doubtful
        lines = text.removesuffix(b"\n").split(b"\n")
        if self.strict:
            _require_text(self._texts(lines))
        numbers, rows = self._rows(lines, line)
        if not all(map(self._fits, rows)) or self._hides_entries(text, lines):
            raise Doubtful
        firsts = [place for place, row in enumerate(rows) if not place or row[0] != rows[place - 1][0]]
        kept, taken = len(rows), len(lines)
        if not final and firsts:
            kept = firsts.pop()
            taken = numbers[kept] - line
        self._add_comments(lines[:taken], line)
        consumed = sum(map(len, lines[:taken])) + taken
        return Entries(*self._columns(numbers[:kept], rows[:kept], firsts, line), consumed, taken)

    def note(self, number: int, name: str, value: bytes, rule: str, remedy: str, fix: str = "") -> None:
        """Keep a note unless the same was made from an earlier line."""
        if rule not in self.notes:
            self.notes[rule] = Problem(rule, remedy, number, name, shown(value), fix=fix)

    def _fits(self, fields: list[bytes]) -> bool:
        self.form = self.form or form_of(fields, self.strict)
        return self.form.fits(len(fields))

    def _hides_entries(self, text: bytes, lines: list[bytes]) -> bool:
        if text.count(b"\r") == text.count(b"\r\n"):
            return False
        columns = self.form.columns if self.form else 0
        return any(hides_entries(line, len(line.split()), columns) for line in lines)

    def _columns(
        self, numbers: list[int], rows: list[list[bytes]], firsts: list[int], line: int
    ) -> tuple[bytes, Columns]:
        if not rows or self.form is None:
            return bytes(kernel.SLACK), Columns.with_room(0, 0)
        columns: list[Column] = list(zip(*rows, strict=False))
        if self.form.columns == 3:
            topics, docnos, ranks = columns[:3]
            scores = _scores_of_ranks(ranks)
            rule = "The file has three columns, topic docno rank."
            self.note(numbers[0], "", b"", rule, "The negative rank was used as the score.")
        else:
            topics, _, docnos, _, texts, tags = columns[:6]
            scores = _scores(texts)
            self._note_columns(numbers, columns, scores)
            self.tag = tags[-1]
            if max(map(len, set(tags))) > self.form.id_bytes:
                raise Doubtful
        if max(map(len, (*docnos, *set(topics)))) > self.form.id_bytes:
            raise Doubtful
        return _laid_out(topics, docnos, scores, firsts, [number - line for number in numbers])

    def _rows(self, lines: list[bytes], line: int) -> tuple[list[int], list[list[bytes]]]:
        """The numbers of the lines that hold entries, and their fields."""
        numbers, rows = [], []
        for number, text in enumerate(lines, line):
            if text and not self.is_comment(text) and (fields := text.split()):
                numbers.append(number)
                rows.append(fields)
        return numbers, rows

    def skipped_notes(self) -> list[Problem]:
        """The note on the lines that were skipped because they begin with `#`, but for a header."""
        return [skipped(self._skipped, *self._example)] if self._skipped else []

    def is_comment(self, line: bytes) -> bool:
        """Whether a line is not an entry because it begins with `#`."""
        return is_comment(line, self.dialect)

    def _texts(self, lines: list[bytes]) -> list[bytes]:
        return [line for line in lines if not self.is_comment(line)]

    def _add_comments(self, lines: list[bytes], first: int) -> None:
        for number, line in enumerate(lines, first):
            if not self.is_comment(line):
                continue
            if len(self.comments) < metadata.MAX_LINES:
                self.comments.append(line.decode("utf-8", "replace"))
            self._in_header = self._in_header or b"ir_metadata.start" in line
            if not self._in_header:
                self._skipped += 1
                if not self._example[0] or (is_entry(line, 6) and not is_entry(self._example[1], 6)):
                    self._example = number, line
            self._in_header = self._in_header and b"ir_metadata.end" not in line

    def _note_columns(self, numbers: list[int], columns: list[Column], scores: FloatArray) -> None:
        self._note_second(numbers, columns[1])
        if self.strict:  # else the kernels do not look at ranks, and which lines come here would decide
            self._note_ranks(numbers, columns[0], columns[3], scores)
        for tag in dict.fromkeys(columns[5]):
            self._add_tag(tag)

    def _add_tag(self, tag: bytes) -> None:
        if len(self.tags) < TAGS_KEPT:
            self.tags[tag] = None

    def _note_second(self, numbers: list[int], second: Column) -> None:
        place = next((place for place, text in enumerate(second) if text != b"Q0"), None)
        if place is not None:
            rule = "The second column is not Q0."
            self.note(numbers[place], "iteration", second[place], rule, "It is ignored.")

    def _note_ranks(self, numbers: list[int], topics: Column, texts: Column, scores: FloatArray) -> None:
        try:
            ranks = np.array(list(map(float, texts)))
        except ValueError:
            place = next(place for place, text in enumerate(texts) if not text.isdigit())
            rule = "The rank is not a whole number."
            self.note(numbers[place], "rank", texts[place], rule, "Ranks are ignored: the scores decide.")
            return
        same = np.array(topics)
        same = same[1:] == same[:-1]
        rising = (scores[1:] > scores[:-1]) & (ranks[1:] > ranks[:-1])
        falling = (scores[1:] < scores[:-1]) & (ranks[1:] < ranks[:-1])
        against = np.flatnonzero((rising | falling) & same)
        if len(against):
            place = int(against[0]) + 1
            rule = "The rank contradicts the score: a document of a lower score has the better rank."
            remedy = "The scores decide; check that higher scores are better."
            self.note(numbers[place], "rank", texts[place], rule, remedy, "ranks")


def _require_text(lines: list[bytes]) -> None:
    """Raise Doubtful unless the lines are text without control characters."""
    text = b"\n".join(lines)
    if len(text.translate(None, CONTROL_BYTES)) < len(text):
        raise Doubtful
    try:
        text.decode("utf-8")
    except UnicodeDecodeError:
        raise Doubtful from None


def _scores(texts: Column) -> FloatArray:
    """The scores; float() alone would also accept underscores, nan and infinity."""
    if b"".join(texts).translate(None, SCORE_BYTES):
        raise Doubtful
    try:
        scores = np.array(list(map(float, texts)))
    except ValueError:
        raise Doubtful from None
    if not np.isfinite(scores).all():
        raise Doubtful
    return scores


def _scores_of_ranks(ranks: Column) -> FloatArray:
    if not all(map(is_rank, ranks)):
        raise Doubtful
    return -np.array(list(map(float, ranks)))


def _laid_out(
    topics: Column, docnos: Column, scores: FloatArray, firsts: list[int], lines: list[int]
) -> tuple[bytes, Columns]:
    """A buffer of the docnos and the groups' topics, and their positions in it."""
    heads = [topics[first] for first in firsts]
    body = b"".join((*docnos, *heads, bytes(kernel.SLACK)))
    length = np.array(list(map(len, docnos)), np.int32)
    head_length = np.array(list(map(len, heads)), np.int32)
    ends = np.cumsum(length, dtype=np.int32)
    head_ends = ends[-1] + np.cumsum(head_length, dtype=np.int32)
    at = ends - length
    columns = Columns(
        at=at,
        length=length,
        hash=kernel.hashes(body, at, length),
        score=scores,
        group_start=np.array([*firsts, len(docnos)], np.int32),
        group_at=head_ends - head_length,
        group_length=head_length,
        group_line=np.array([lines[first] for first in firsts], np.int64),
    )
    return body, columns
