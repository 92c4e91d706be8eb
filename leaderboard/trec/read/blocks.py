"""A run file as a stream of blocks of whole topics, read once, whatever its size."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, Generic, Protocol, TypeVar

import numpy as np

from leaderboard.errors import Problem
from leaderboard.trec.read import kernel, metadata
from leaderboard.trec.read.buffers import Buffer, TooLong
from leaderboard.trec.read.columns import Columns, Int32
from leaderboard.trec.read.entries import Form, explain
from leaderboard.trec.read.lines import Limits, Source, text_of
from leaderboard.trec.read.oddities import Doubtful, Entries, Oddities
from leaderboard.trec.read.scattered import Scattered

SHORTEST_ENTRY = 12
"""Bytes of a line with one character a field."""


@dataclass(frozen=True, eq=False)
class Block:
    """Complete rankings of a run; body and columns are those of the next block once that is asked for.

    topics: (groups,) ids; lines: (groups,) line of the file on which each begins.
    """

    body: bytes | bytearray
    columns: Columns
    topics: list[bytes]
    lines: list[int]
    _orders: dict[int, tuple[Int32, Int32]] = field(default_factory=dict, init=False, repr=False)

    def docno(self, entry: int) -> bytes:
        """An entry's docno."""
        at = int(self.columns.at[entry])
        return bytes(self.body[at : at + int(self.columns.length[entry])])

    def best(self, dialect: int) -> Int32:
        """The entries of every group, best first, in trec_eval's order, (entries,)."""
        return self._order(dialect)[0]

    def ties(self) -> Int32:
        """How many neighbours of each ranking have equal scores, (groups,)."""
        return self._order(10)[1]

    def sizes(self) -> Int32:
        """The number of documents of each ranking, (groups,)."""
        return np.diff(self.columns.group_start)

    def _order(self, dialect: int) -> tuple[Int32, Int32]:
        if dialect not in self._orders:
            self._orders[dialect] = kernel.order(self.body, self.columns, dialect)
        return self._orders[dialect]


class Consumer(Protocol):
    """What takes the blocks of a run one after the other."""

    def add(self, block: Block) -> None:
        """Take a block; nothing of it may be kept without copying."""


C = TypeVar("C", bound=Consumer)


@dataclass(frozen=True, eq=False)
class Scanned(Generic[C]):
    """What is known of a run file once all of it was read; consumer took its blocks.

    tag is the last line's and tags the first few distinct ones; split_topics came in several parts,
    which were joined; metadata is the ir_metadata header, {} without one; notes are oddities.
    """

    consumer: C
    tag: str
    tags: tuple[str, ...]
    entries: int
    split_topics: tuple[str, ...]
    metadata: dict[str, Any]
    notes: tuple[Problem, ...]


def scan_run(path: Source, start: Callable[[], C], *, strict: bool, limits: Limits) -> Scanned[C]:
    """Read a run file once and give its blocks, each with distinct documents, to a consumer.

    A file whose topics are not all together is read again and held in memory, and start is called
    again. strict and errors are as in `read_run`.
    """
    try:
        try:
            return _scan(_Reader(path, strict, limits), start())
        except _SplitTopic:
            return _scan(_ScatteredReader(path, strict, limits), start())
    except Doubtful as doubt:
        explain(path, limits, strict, doubt.topics)


def _scan(reader: "_Reader", consumer: C) -> Scanned[C]:
    for block in reader.blocks():
        twice = kernel.doubled(block.body, block.columns)
        if twice >= 0:
            raise Doubtful(block.topics[twice])
        consumer.add(block)
    if not reader.entries:
        raise Doubtful
    odd = reader.oddities
    return Scanned(
        consumer=consumer,
        tag=text_of(odd.tag),
        tags=tuple(map(text_of, odd.tags)),
        entries=reader.entries,
        split_topics=tuple(map(text_of, reader.split)),
        metadata=metadata.parse(odd.comments),
        notes=tuple(odd.notes.values()),
    )


class _SplitTopic(Exception):
    """A topic's lines are not all together: blocks cannot be complete."""


class _Reader:
    """Cuts the plain bytes of a file into blocks of whole topics."""

    def __init__(self, path: Source, strict: bool, limits: Limits) -> None:
        self.path = path
        self.strict = strict
        self.limits = limits
        self.form = Form(6, strict)
        self.oddities = Oddities(strict)
        self.entries = 0
        self.line = 1
        self.split: dict[bytes, None] = {}
        self._seen: set[bytes] = set()
        self._room = Columns.with_room(0, 0)

    def blocks(self) -> Iterator[Block]:
        """The blocks, in order; raises Doubtful where a line needs a closer look."""
        for buffer in self._filled():
            block = self._taken(buffer, self._entries(buffer, buffer.final))
            if self._seen.intersection(block.topics) or len(set(block.topics)) < len(block.topics):
                raise _SplitTopic
            self._seen.update(block.topics)
            if block.topics:
                yield block

    def _filled(self) -> Iterator[Buffer]:
        buffer = Buffer(self.path, self.limits)
        try:
            for filled in buffer:
                if filled.marked and self.line == 1:
                    rule = "The file starts with a byte order mark."
                    self.oddities.note(1, "", b"", rule, "It was ignored.")
                yield filled
        except TooLong:
            raise Doubtful from None

    def _taken(self, buffer: Buffer, entries: Entries) -> Block:
        """The entries as a block; what they were of the buffer is marked as taken."""
        buffer.taken, self.entries = entries.consumed, self.entries + len(entries.columns.at)
        columns = entries.columns
        starts = columns.group_at.tolist()
        sizes = columns.group_length.tolist()
        topics = [bytes(entries.body[at : at + size]) for at, size in zip(starts, sizes, strict=True)]
        lines = [self.line + line for line in columns.group_line.tolist()]
        self.line += entries.lines
        return Block(entries.body, columns, topics, lines)

    def _entries(self, buffer: Buffer, final: bool) -> Entries:
        """The entries of a buffer; line by line where the kernel declines."""
        body, end = buffer.body, buffer.end
        if self.oddities.form is None or self.oddities.form.columns == 6:
            parsed = kernel.columns(
                body,
                end,
                final=final,
                fields=6,
                strict=self.strict,
                id_bytes=self.form.id_bytes,
                room=self._roomy(end),
            )
            if parsed.ok:
                self.oddities.look(body, parsed, self.line)
                columns = self._room.cut(parsed.entries, parsed.groups)
                return Entries(body, columns, parsed.consumed, parsed.lines)
        return self.oddities.read(bytes(body[:end]), self.line, final)

    def _roomy(self, size: int) -> Columns:
        entries = size // SHORTEST_ENTRY + 1
        if len(self._room.at) < entries:
            self._room = Columns.with_room(entries, entries)
        return self._room


class _ScatteredReader(_Reader):
    """The same for files whose topics are not all together: held in memory, put together at the end."""

    def blocks(self) -> Iterator[Block]:
        """The blocks, topics in order of arrival, once all of the file was read."""
        scattered = Scattered()
        for buffer in self._filled():
            block = self._taken(buffer, self._entries(buffer, final=True))
            scattered.add(block.body, block.columns, block.topics, block.lines)
        self.split = scattered.split
        for body, columns, topics, lines in scattered.together():
            yield Block(body, columns, topics, lines)
