"""Run files to arrays: one ranking a topic, read in bulk; any doubt goes to the careful reader."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from leaderboard.errors import Problem
from leaderboard.trec import metadata
from leaderboard.trec.entries import CONTROL_BYTES, SCORE_BYTES, Form, explain, form_of, is_rank
from leaderboard.trec.lines import BOM, DEFAULT_LIMITS, Limits, line_blocks, shown, text_of

TAGS_KEPT = 5

Docnos = NDArray[np.bytes_]
Scores = NDArray[np.float64]
Column = Sequence[bytes]
"""One field of every entry of a block."""


@dataclass(frozen=True, slots=True, eq=False)
class Ranking:
    """One topic of one run, in the order of the file.

    docnos: (documents,) raw bytes, dtype S; scores: (documents,) float64, finite.
    """

    topic: str
    docnos: Docnos
    scores: Scores


@dataclass(frozen=True, eq=False)
class Run:
    """A run as its file says: rankings by topic in order of arrival.

    tag is the last line's and tags the first few distinct ones; split_topics came in several parts,
    which are joined here; metadata is the ir_metadata header, {} without one; notes are oddities
    seen while reading; first_lines tells on which line each topic starts.
    """

    tag: str
    tags: tuple[str, ...]
    rankings: dict[str, Ranking]
    split_topics: tuple[str, ...]
    entries: int
    metadata: dict[str, Any]
    notes: tuple[Problem, ...]
    first_lines: dict[str, int] = field(default_factory=dict)


def read_run(source: Path, *, strict: bool = True, limits: Limits = DEFAULT_LIMITS) -> Run:
    """The run in a file: six columns, tabs or blanks, `#` comments, plain or .gz, .bz2, .xz, .zst.

    strict also takes MS MARCO's three columns (topic docno rank) and refuses what the upload refuses;
    otherwise only what trec_eval 10 refuses, and scores that are no finite numbers. Raises Invalid
    with up to 25 problems, TooLarge beyond limits.
    """
    reader = _Reader(strict)
    try:
        for number, block in line_blocks(source, limits):
            reader.add(number, block)
        return reader.run()
    except _Doubtful as doubt:
        explain(source, limits, strict, doubt.topics)


class _Doubtful(Exception):
    """Bulk reading met something that needs a look line by line."""

    def __init__(self, *topics: bytes) -> None:
        super().__init__()
        self.topics = topics


@dataclass
class _Topic:
    first_line: int
    docnos: list[Docnos] = field(default_factory=list)
    scores: list[Scores] = field(default_factory=list)


class _Reader:
    """Collects blocks of whole lines; a run comes out."""

    def __init__(self, strict: bool) -> None:
        self.strict = strict
        self.form: Form | None = None
        self.topics: dict[bytes, _Topic] = {}
        self.split: dict[bytes, None] = {}
        self.current = b""
        self.tags: dict[bytes, None] = {}
        self.tag = b""
        self.entries = 0
        self.comments: list[str] = []
        self.notes: dict[str, Problem] = {}

    def add(self, number: int, block: bytes) -> None:
        """Take a block whose first line has this number."""
        if number == 1 and block.startswith(BOM):
            block = block[len(BOM) :]
            self._note(1, "", b"", "The file starts with a byte order mark.", "It was ignored.")
        numbers, columns = self._columns(number, block)
        if numbers:
            self.entries += len(numbers)
            self._add_columns(numbers, columns)

    def run(self) -> Run:
        """The run of all blocks taken; each ranking's documents are distinct."""
        if not self.topics:
            raise _Doubtful
        rankings = [_ranking(topic, parts) for topic, parts in self.topics.items()]
        doubled = [
            topic
            for topic, ranking in zip(self.topics, rankings, strict=True)
            if len(set(ranking.docnos.tolist())) < len(ranking.docnos)
        ]
        if doubled:
            raise _Doubtful(*doubled)
        return Run(
            tag=text_of(self.tag),
            tags=tuple(map(text_of, self.tags)),
            rankings={ranking.topic: ranking for ranking in rankings},
            split_topics=tuple(map(text_of, self.split)),
            entries=self.entries,
            metadata=metadata.parse(self.comments),
            notes=tuple(self.notes.values()),
            first_lines={text_of(topic): parts.first_line for topic, parts in self.topics.items()},
        )

    def _columns(self, number: int, block: bytes) -> tuple[Sequence[int], Sequence[Column]]:
        """The lines that hold entries and the entries' fields by column, without blank lines and comments."""
        lines = None
        if block.startswith(b"#") or b"\n#" in block:
            lines = [self._without_comment(line) for line in block.removesuffix(b"\n").split(b"\n")]
            block = b"\n".join(lines)
        if self.strict:
            _refuse_bytes(block)
        if lines is None and (columns := _six_columns(block)):
            self.form = self.form or Form(6, self.strict)
            if not self.form.fits(6):
                raise _Doubtful
            return range(number, number + len(columns[0])), columns
        return self._irregular_columns(number, lines or block.removesuffix(b"\n").split(b"\n"))

    def _irregular_columns(self, number: int, lines: list[bytes]) -> tuple[Sequence[int], Sequence[Column]]:
        """The same, line by line."""
        rows = [line.split() for line in lines]
        numbers = [place for place, row in enumerate(rows, number) if row]
        rows = [row for row in rows if row]
        if rows:
            self.form = self.form or form_of(rows[0], self.strict)
            if not all(map(self.form.fits, set(map(len, rows)))):
                raise _Doubtful
        return numbers, list(zip(*rows, strict=False))

    def _without_comment(self, line: bytes) -> bytes:
        if not line.startswith(b"#"):
            return line
        if len(self.comments) < metadata.MAX_LINES:
            self.comments.append(line.decode("utf-8", "replace"))
        return b""

    def _add_columns(self, numbers: Sequence[int], columns: Sequence[Column]) -> None:
        if self.form and self.form.columns == 3:
            topics, docnos, ranks = columns
            scores = _scores_of_ranks(ranks)
            rule = "The file has three columns, topic docno rank."
            self._note(numbers[0], "", b"", rule, "Minus the rank was taken as the score.")
        else:
            topics, second, docnos, ranks, texts, tags = columns[:6]
            scores = _scores(texts)
            self._note_second(numbers, second)
            self._add_tags(tags)
        longest = max(map(len, (*docnos, *set(topics))))
        if self.form and longest > self.form.id_bytes:
            raise _Doubtful
        same = np.array(topics)
        same = same[1:] == same[:-1]
        if self.form and self.form.columns == 6:
            self._note_ranks(numbers, ranks, scores, same)
        self._add_parts(numbers, topics, np.array(docnos), scores, same)

    def _add_parts(
        self,
        numbers: Sequence[int],
        topics: Column,
        docnos: Docnos,
        scores: Scores,
        same: NDArray[np.bool_],
    ) -> None:
        starts = [0, *(np.flatnonzero(~same) + 1).tolist()]
        for start, end in zip(starts, [*starts[1:], len(topics)], strict=True):
            topic = topics[start]
            parts = self.topics.get(topic)
            if parts is None:
                parts = self.topics[topic] = _Topic(numbers[start])
            elif topic != self.current:
                self.split[topic] = None
            self.current = topic
            parts.docnos.append(docnos[start:end])
            parts.scores.append(scores[start:end])

    def _add_tags(self, tags: Column) -> None:
        self.tag = tags[-1]
        distinct = dict.fromkeys(tags)
        if self.form and max(map(len, distinct)) > self.form.id_bytes:
            raise _Doubtful
        for tag in distinct:
            if len(self.tags) < TAGS_KEPT:
                self.tags[tag] = None

    def _note_second(self, numbers: Sequence[int], second: Column) -> None:
        if second.count(b"Q0") == len(second):
            return
        place = next(place for place, text in enumerate(second) if text != b"Q0")
        rule = "The second column is not Q0."
        self._note(numbers[place], "iteration", second[place], rule, "It is ignored.")

    def _note_ranks(
        self, numbers: Sequence[int], texts: Column, scores: Scores, same: NDArray[np.bool_]
    ) -> None:
        try:
            ranks = np.array(list(map(float, texts)))
        except ValueError:
            place = next(place for place, text in enumerate(texts) if not text.isdigit())
            rule = "The rank is not a whole number."
            self._note(numbers[place], "rank", texts[place], rule, "Ranks are ignored: the scores decide.")
            return
        rising = (scores[1:] > scores[:-1]) & (ranks[1:] > ranks[:-1])
        falling = (scores[1:] < scores[:-1]) & (ranks[1:] < ranks[:-1])
        against = np.flatnonzero((rising | falling) & same)
        if len(against):
            place = int(against[0]) + 1
            rule = "The rank contradicts the score: a document of a lower score has the better rank."
            remedy = "The scores decide; check that higher scores are better."
            self._note(numbers[place], "rank", texts[place], rule, remedy)

    def _note(self, number: int, name: str, value: bytes, rule: str, remedy: str) -> None:
        if rule not in self.notes:
            self.notes[rule] = Problem(rule, remedy, number, name, shown(value))


def _six_columns(block: bytes) -> list[Column]:
    """The columns of a block whose every line has six fields, [] for any other block.

    Twice as fast as line by line: NUL, which no block holds, stands for the line ends.
    """
    ends = block.count(b"\n") + (not block.endswith(b"\n"))
    fields = (block if block.endswith(b"\n") else block + b"\n").replace(b"\n", b" \0 ").split()
    if len(fields) != 7 * ends or fields[6::7].count(b"\0") != ends:
        return []
    return [fields[place::7] for place in range(6)]


def _refuse_bytes(block: bytes) -> None:
    try:
        block.decode("utf-8")
    except UnicodeDecodeError:
        raise _Doubtful from None
    if len(block.translate(None, CONTROL_BYTES)) < len(block):
        raise _Doubtful


def _scores(texts: Column) -> Scores:
    """The scores; float() alone would also take underscores, nan and infinity."""
    if b"".join(texts).translate(None, SCORE_BYTES):
        raise _Doubtful
    try:
        scores = np.array(list(map(float, texts)))
    except ValueError:
        raise _Doubtful from None
    if not np.isfinite(scores).all():
        raise _Doubtful
    return scores


def _scores_of_ranks(ranks: Column) -> Scores:
    if not all(map(is_rank, ranks)):
        raise _Doubtful
    return -np.array(list(map(float, ranks)))


def _ranking(topic: bytes, parts: _Topic) -> Ranking:
    if len(parts.docnos) == 1:
        return Ranking(text_of(topic), parts.docnos[0], parts.scores[0])
    return Ranking(text_of(topic), np.concatenate(parts.docnos), np.concatenate(parts.scores))
