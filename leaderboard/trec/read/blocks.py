"""A block: whole topics of a run, read together and passed to consumers."""

from dataclasses import dataclass, field
from typing import Protocol

import numpy as np

from leaderboard.trec.read import kernel
from leaderboard.trec.read.columns import Columns, Int32


@dataclass(slots=True)
class Known:
    """Cached properties of a block: its orders by dialect with their ties, and the group with a duplicate."""

    orders: dict[int, tuple[Int32, Int32]] = field(default_factory=dict)
    doubled: int | None = None


@dataclass(frozen=True, eq=False)
class Block:
    """Complete rankings of a run; body and columns become those of the next block once it is requested.

    topics: (groups,) ids; lines: (groups,) line of the file on which each begins. known: what was computed
    from them so far.
    """

    body: bytes | bytearray
    columns: Columns
    topics: list[bytes]
    lines: list[int]
    known: Known = field(default_factory=Known, repr=False)

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
        return np.diff(self.columns.group_start)

    def doubled(self) -> int:
        """The first group that has a document twice, -1 if none has."""
        if self.known.doubled is None:
            self.known.doubled = kernel.doubled(self.body, self.columns)
        return self.known.doubled

    def _order(self, dialect: int) -> tuple[Int32, Int32]:
        if dialect not in self.known.orders:
            self.known.orders[dialect] = kernel.order(self.body, self.columns, dialect)
        return self.known.orders[dialect]


class Consumer(Protocol):
    """A consumer of the blocks of a run, in order."""

    def add(self, block: Block) -> None:
        """Take a block; no part of it may be kept without copying."""


def block_in(body: bytes | bytearray, columns: Columns) -> Block:
    """The entries as a block; its lines are those of the body, from 0."""
    groups = zip(columns.group_at.tolist(), columns.group_length.tolist(), strict=True)
    topics = [bytes(body[at : at + size]) for at, size in groups]
    return Block(body, columns, topics, columns.group_line.tolist())
