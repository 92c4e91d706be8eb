"""A run file as a stream of blocks of whole topics, read once, for any size."""

from collections import deque
from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from dataclasses import dataclass, replace
from typing import Any, Generic, NamedTuple, TypeVar

from leaderboard.errors import Problem
from leaderboard.trec.read import kernel, metadata
from leaderboard.trec.read.ahead import ALONE, Irregular, in_order, last_topic
from leaderboard.trec.read.buffers import Buffer, TooLong, give_back, spare
from leaderboard.trec.read.columns import COMMENTS, Columns
from leaderboard.trec.read.entries import Form, explain
from leaderboard.trec.read.forms import is_entry
from leaderboard.trec.read.kernel import Block, Consumer, Parsed, block_in
from leaderboard.trec.read.lines import BOM_NOTE, Limits, Source, text_of
from leaderboard.trec.read.oddities import Doubtful, Entries, Oddities
from leaderboard.trec.read.scattered import Scattered
from leaderboard.trec.read.usual import unnumbered, usual

SHORTEST_ENTRY = 12
"""Bytes of a line with one character a field."""
_ROOMS: deque[Columns] = deque(maxlen=4)
"""Columns that nothing needs any more, as for bodies."""

C = TypeVar("C", bound=Consumer)


@dataclass(frozen=True, eq=False)
class Scanned(Generic[C]):
    """The result of reading a whole run file; consumer took its blocks.

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


@dataclass(frozen=True)
class Ahead:
    """Work on a block in this number of threads before its turn; the block keeps the result.

    alone: blocks that are read before the first thread is started.
    """

    work: Callable[[Block], object]
    threads: int
    alone: int = ALONE


def scan_run(
    path: Source,
    start: Callable[[], C],
    *,
    strict: bool,
    limits: Limits,
    ahead: Ahead | None = None,
    dialect: int = 10,
) -> Scanned[C]:
    """Read a run file once and give its blocks, each with distinct documents, to a consumer.

    A file whose topics are not contiguous is read again and kept in memory, and start is called
    again. strict and errors are as in `read_run`. ahead: a large file is read by several threads with the
    kernel in C; an irregular one is read again without them, so that its messages are the same.
    Runs of other forms are read too, as `usual` says. dialect: with 9, entries may begin with `#`.
    """
    source = usual(path, "run", limits, strict=strict)
    how = _How(source, strict, limits, dialect)
    with unnumbered(source):
        try:
            scanned = _scanned(how, start, ahead)
        except Doubtful as doubt:
            explain(source, limits, strict, doubt.topics, dialect)
    if source is path:
        return scanned
    tags = (scanned.tag, scanned.tags) if getattr(source, "tagged", True) else ("", ())
    notes = (*getattr(source, "notes", ()), *scanned.notes)
    return replace(scanned, tag=tags[0], tags=tags[1], notes=notes)


class _How(NamedTuple):
    """The file and how it is read."""

    path: Source
    strict: bool
    limits: Limits
    dialect: int


def _scanned(how: _How, start: Callable[[], C], ahead: Ahead | None) -> Scanned[C]:
    with suppress(_SplitTopic):
        # With numpy alone threads would wait for each other.
        if ahead and ahead.threads > 1 and kernel.native is not None:
            with suppress(Irregular):
                return _scan(_AheadReader(how, ahead), start())
        return _scan(_Reader(how), start())
    return _scan(_ScatteredReader(how), start())


def _scan(reader: "_Reader", consumer: C) -> Scanned[C]:
    for block in reader.blocks():
        if (twice := block.doubled) >= 0:
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
        notes=(*odd.notes.values(), *odd.skipped_notes()),
    )


class _SplitTopic(Exception):
    """A topic's lines are not all together: blocks cannot be complete."""


class _Reader:
    """Cuts the plain bytes of a file into blocks of whole topics."""

    def __init__(self, how: _How) -> None:
        self.path, self.strict, self.limits, self.dialect = how
        self.form = Form(6, how.strict)
        self.oddities = Oddities(how.strict, how.dialect)
        self.entries = 0
        self.line = 1
        self.split: dict[bytes, None] = {}
        self._seen: set[bytes] = set()
        self._room = Columns.with_room(0, 0)

    def blocks(self) -> Iterator[Block]:
        """The blocks, in order; raises Doubtful where a line needs a closer look."""
        for block in self._all():
            if self._seen.intersection(block.topics) or len(set(block.topics)) < len(block.topics):
                raise _SplitTopic
            self._seen.update(block.topics)
            if block.topics:
                yield block

    def _all(self) -> Iterator[Block]:
        for buffer in self._filled():
            yield self._taken(buffer, self._entries(buffer, buffer.final))
        _ROOMS.append(self._room)

    def _filled(self) -> Iterator[Buffer]:
        buffer = Buffer(self.path, self.limits)
        try:
            for filled in buffer:
                if filled.marked and self.line == 1:
                    self.oddities.note(1, "", b"", BOM_NOTE.rule, BOM_NOTE.remedy)
                yield filled
        except TooLong:
            raise Doubtful from None

    def _taken(self, buffer: Buffer, entries: Entries) -> Block:
        """The entries as a block; their part of the buffer is marked as consumed."""
        buffer.taken = entries.consumed
        return self._counted(block_in(entries.body, entries.columns), entries.lines)

    def _counted(self, block: Block, lines: int) -> Block:
        """The block, which now has line numbers of the file, after this number of lines."""
        block.lines[:] = [self.line + line for line in block.lines]
        self.line, self.entries = self.line + lines, self.entries + len(block.columns.at)
        return block

    def _entries(self, buffer: Buffer, final: bool) -> Entries:
        """The entries of a buffer; line by line where the kernel declines."""
        body, end = buffer.body, buffer.end
        if self.oddities.form is None or self.oddities.form.columns == 6:
            self._room = _roomy(self._room, end)
            parsed = self._parsed(body, end, final, self._room)
            if parsed.ok and not self._hides_ids(body, end, parsed):
                self.oddities.look(body, parsed, self.line)
                columns = self._room.cut(parsed.entries, parsed.groups)
                return Entries(body, columns, parsed.consumed, parsed.lines)
        return self.oddities.read(bytes(body[:end]), self.line, final)

    def _hides_ids(self, body: bytearray, end: int, parsed: Parsed) -> bool:
        """Whether lines that the kernel skipped as comments are entries in this dialect."""
        if self.dialect != 9 or not parsed.flags & COMMENTS:
            return False
        lines = bytes(body[:end]).split(b"\n")
        return any(is_entry(line, 6) for line in lines if line.startswith(b"#"))

    def _parsed(self, body: bytearray, end: int, final: bool, room: Columns) -> Parsed:
        return kernel.columns(
            body, end, final=final, fields=6, strict=self.strict, id_bytes=self.form.id_bytes, room=room
        )


def _roomy(room: Columns, size: int) -> Columns:
    """The columns, or larger ones where entries of this size may not fit."""
    entries = size // SHORTEST_ENTRY + 1
    if len(room.at) < entries:
        with suppress(IndexError):
            room = _ROOMS.pop()
    return room if len(room.at) >= entries else Columns.with_room(entries, entries)


class _Part(NamedTuple):
    """A body whose first topics, all but the last unless it is final, end where it is cut."""

    body: bytearray
    end: int
    cut: int
    final: bool
    room: Columns


class _AheadReader(_Reader):
    """The same by several threads that have a part each; raises Irregular where one has to read all lines."""

    def __init__(self, how: _How, ahead: Ahead) -> None:
        super().__init__(how)
        self._ahead = ahead

    def _all(self) -> Iterator[Block]:
        ahead = self._ahead
        with closing(in_order(self._parts(), self._worked, ahead.threads, ahead.alone)) as worked:
            for part, parsed, block in worked:
                if block is None:
                    raise Irregular
                self.oddities.look(part.body, parsed, self.line)
                yield self._counted(block, parsed.lines)
                give_back(part.body)
                _ROOMS.append(part.room)

    def _parts(self) -> Iterator[_Part]:
        for buffer in self._filled():
            cut = buffer.end if buffer.final else last_topic(buffer.body, buffer.end)
            part = _Part(buffer.body, buffer.end, cut, buffer.final, _roomy(self._room, buffer.end))
            if cut:
                yield part
                buffer.taken, buffer.following = cut, spare(len(buffer.body))
            # A part of a topic is not a block; but blocks are to be those that one thread makes.
            elif self._worked(part)[2] is None:
                raise Irregular

    def _worked(self, part: _Part) -> tuple[_Part, Parsed, Block | None]:
        """In any thread: what the kernel says, and the block, None where it is not what it was cut for."""
        parsed = self._parsed(part.body, part.end, part.final, part.room)
        is_whole = parsed.ok and parsed.consumed == part.cut
        if not is_whole or self._hides_ids(part.body, part.end, parsed):
            return part, parsed, None
        block = block_in(part.body, part.room.cut(parsed.entries, parsed.groups))
        # Work as well: what a block says of itself it says once.
        _ = block.doubled
        self._ahead.work(block)
        return part, parsed, block


class _ScatteredReader(_Reader):
    """The same for files whose topics are not contiguous: kept in memory, joined at the end."""

    def blocks(self) -> Iterator[Block]:
        """The blocks, topics in order of arrival, once all of the file was read."""
        scattered = Scattered()
        for buffer in self._filled():
            block = self._taken(buffer, self._entries(buffer, final=True))
            scattered.add(block.body, block.columns, block.topics, block.lines)
        self.split = scattered.split
        for body, columns, topics, lines in scattered.together():
            yield Block(body, columns, topics, lines)
