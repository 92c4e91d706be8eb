"""The inner loops of reading runs and qrels, in C where that was built, else in numpy: the same bits.

Everything works on a block: a buffer of whole lines followed by SLACK readable bytes, and `Columns`, the
position of each entry's docno in the buffer, its hash and its score, grouped by topic.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple, Protocol

import numpy as np

from leaderboard.measures.judged import FloatArray, IntArray
from leaderboard.trec.read import native as which
from leaderboard.trec.read.columns import Columns, Index, Int32, Words

native: Any = which.native
"""The C module, None where numpy alone works."""

SLACK = 16
"""Bytes that must be readable behind a block: words of 8 bytes are loaded whole."""
ROUND_TO_SINGLE = {9: True, 10: False}
"""Dialect -> whether scores are compared as 32-bit floats."""
MANY = 2**31 - 1
LEAST_SLOTS = 64
"""Of a topic's table: where few documents are judged, most others meet an empty slot at once."""


def _numpy() -> Any:
    """The functions with numpy alone, imported where they are needed."""
    from leaderboard.trec.read import numpy_kernel

    return numpy_kernel


class Parsed(NamedTuple):
    """Result of `columns`: ok is 0 where some line could not be read; consumed and lines count what was read
    of the block; the tag is the last line's, in qrels its iteration."""

    ok: int
    entries: int
    groups: int
    consumed: int
    lines: int
    flags: int
    tag_at: int
    tag_length: int


def columns(
    body: bytearray, end: int, *, final: bool, fields: int, strict: bool, id_bytes: int, room: Columns
) -> Parsed:
    """Read the lines of body[:end], which ends in a newline, into room.

    fields: 6 of a run (topic, Q0, docno, rank, score, tag) or 4 of qrels (topic, iteration, docno,
    grade). Unless final, the last topic's lines are left to the next block. strict: exactly this
    number of fields, and no control characters.
    """
    if native is None:
        return Parsed(*_numpy().columns(body, end, final, fields, strict, id_bytes, room))
    return Parsed(*native.columns(body, end, final, fields, strict, id_bytes, *room.arrays()))


def order(body: bytes | bytearray, block: Columns, dialect: int) -> tuple[Int32, Int32]:
    """Every group's entries, best first: by score descending, then docno descending as bytes.

    (entries,) indices of entries, and (groups,) how many neighbours in that order have equal scores, in
    the precision of the dialect, 9 or 10; raises ValueError for another one.
    """
    if dialect not in ROUND_TO_SINGLE:
        raise ValueError(f"no dialect {dialect}: trec_eval 9 and 10 are known")
    best, ties = np.empty(len(block.at), np.int32), np.empty(len(block.group_at), np.int32)
    sort = (native or _numpy()).order
    single = ROUND_TO_SINGLE[dialect]
    sort(body, block.at, block.length, block.score, block.group_start, len(ties), single, best, ties)
    return best, ties


def doubled(body: bytes | bytearray, block: Columns) -> int:
    """The first group that has a docno twice, -1 if none has."""
    search = (native or _numpy()).doubled
    group: int = search(body, block.at, block.length, block.hash, block.group_start, len(block.group_at))
    return group


class Gathered(NamedTuple):
    """Documents of dictionaries one after the other: their letters with SLACK bytes behind them, where each
    docno lies in them, its hash and its score."""

    letters: bytes
    at: Int32
    length: Int32
    hash: Words
    score: FloatArray


def gathered(topics: list[Mapping[str, float]], id_bytes: int) -> Gathered | None:
    """The documents (docno -> score) of all topics, in their order; None where one breaks a rule.

    Docnos are text of at most `id_bytes` bytes; scores are finite numbers.
    """
    entries = sum(map(len, topics))
    at, length = np.empty(entries, np.int32), np.empty(entries, np.int32)
    hashed, score = np.empty(entries, np.uint64), np.empty(entries, np.float64)
    arrays = (at, length, hashed, score)
    letters = None if native is None else native.gathered(topics, id_bytes, *arrays)
    if letters is None:
        # Also for valid but unusual values, such as scores of numpy's types.
        letters = _numpy().gathered(topics, id_bytes, *arrays)
    return None if letters is None else Gathered(letters, *arrays)


def hashes(body: bytes | bytearray, at: Int32, length: Int32) -> Words:
    """The hash of each docno of a buffer that has SLACK bytes behind the last one, (docnos,)."""
    values = np.empty(len(at), np.uint64)
    (native or _numpy()).hashes(body, at, length, values)
    return values


def index(docnos: bytes, at: Int32, length: Int32, starts: IntArray) -> Index:
    """The judged documents of every topic: topic t's are starts[t] to starts[t + 1]."""
    letters = docnos + bytes(SLACK)
    hashed = hashes(letters, at, length)
    if native is None:
        return Index(letters, at, length, hashed, starts, _numpy().tables(hashed, starts))
    # The exponent of a number is how many bits it has.
    sizes = np.maximum(LEAST_SLOTS, np.left_shift(1, np.frexp(2.0 * np.diff(starts) + 1)[1], dtype=np.int64))
    slot_starts = np.concatenate(([0], np.cumsum(sizes, dtype=np.int64)))
    slots = np.full(int(slot_starts[-1]), -1, np.int32)
    native.index_documents(hashed, starts, slots, slot_starts)
    return Index(letters, at, length, hashed, starts, (slots, slot_starts))


def match(
    body: bytes | bytearray, block: Columns, best: Int32, place: Int32, index: Index, depth: int | None
) -> tuple[IntArray, IntArray, IntArray]:
    """The judged documents among the best of each group: topic, rank and document, each (hits,).

    place: (groups,) which topic of the index a group is, -1 for none; best: as `order` gives it;
    depth: how many of a ranking count, None for all. Hits come by group, then rank.
    """
    room = min(len(best), len(index.at))
    columns = (block.at, block.length, block.hash, best, block.group_start)
    return _hits(body, *columns, place, MANY if depth is None else depth, index, room)


def _hits(*given: Any) -> tuple[IntArray, IntArray, IntArray]:
    *asked, index, room = given
    if native is None:
        matched: tuple[IntArray, IntArray, IntArray] = _numpy().match(*asked, index)
        return matched
    topic, rank, document = (np.empty(room, np.int64) for _ in range(3))
    hits = native.hits(*asked, *index[:5], *index.tables, topic, rank, document)
    return topic[:hits], rank[:hits], document[:hits]


def among(
    body: bytes | bytearray, at: Int32, length: Int32, hashed: Words, which: Int32, index: Index
) -> IntArray:
    """The positions in which of docnos that are in the index of one topic, ascending, (hits,).

    at, length, hashed: of each docno of the body; which: those to look up, any number of times.
    """
    whole, only = np.array([0, len(which)], np.int32), np.zeros(1, np.int32)
    return _hits(body, at, length, hashed, which, whole, only, MANY, index, len(which))[1] - 1


def printed(
    heads: list[bytes], topics: list[bytes], values: FloatArray, digits: Int32, texts: dict[int, list[bytes]]
) -> bytes:
    """For every topic a line for each head: head, topic, tab, and the value to its number of digits.

    values: (lines, topics); digits: (lines,), where a number takes at least six characters, with 0 as
    many as it needs. texts: line -> the text for every topic instead of a number.
    """
    written: bytes = (native or _numpy()).printed(heads, topics, values, digits, texts)
    return written


def joined(body: bytes | bytearray, at: Int32, length: Int32, which: Int32, separator: bytes = b"") -> bytes:
    """The docnos of the entries named by which, in that order, each followed by the one-byte separator."""
    glue = separator[0] if separator else -1
    join = (native or _numpy()).joined
    letters: bytes = join(body, at, length, which, glue)
    return letters


@dataclass(frozen=True, eq=False)
class Block:
    """Complete rankings of a run; body and columns become those of the next block once it is requested.

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
        """Number of neighbours with equal scores in each ranking, (groups,)."""
        return self._order(10)[1]

    def sizes(self) -> Int32:
        """The number of documents of each ranking, (groups,)."""
        return self.columns.group_start[1:] - self.columns.group_start[:-1]

    @cached_property
    def doubled(self) -> int:
        """The first group that has a document twice, -1 if none has."""
        return doubled(self.body, self.columns)

    def _order(self, dialect: int) -> tuple[Int32, Int32]:
        if dialect not in self._orders:
            self._orders[dialect] = order(self.body, self.columns, dialect)
        return self._orders[dialect]


class Consumer(Protocol):
    """A consumer of the blocks of a run, in order."""

    def add(self, block: Block) -> None:
        """Take a block; no part of it may be kept without copying."""


def block_in(body: bytes | bytearray, columns: Columns) -> Block:
    """The entries as a block; its lines are those of the body, from 0."""
    groups = zip(columns.group_at.tolist(), columns.group_length.tolist(), strict=True)
    topics = [bytes(body[at : at + size]) for at, size in groups]
    return Block(body, columns, topics, columns.group_line.tolist())
