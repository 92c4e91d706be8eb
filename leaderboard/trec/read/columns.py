"""Arrays shared by both kernels: columns of a block, and an index of judged documents."""

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from leaderboard.measures.judged import FloatArray, IntArray

Int32 = NDArray[np.int32]
Words = NDArray[np.uint64]
SECOND, RANK, AGAINST, TAGS, COMMENTS, BYTES = 1, 2, 4, 8, 16, 32
"""Oddities of a block: a second column that is not Q0 (in qrels: that changes), a rank (a grade) that is
not a whole number or a grade of too many digits, a rank that contradicts the score, several tags,
comment lines, bytes beyond ASCII."""


@dataclass(frozen=True, eq=False)
class Columns:
    """Positions of a block's entries, by entry in order of the lines, and its topics, by group.

    at, length: of the docno in the buffer, int32; hash: of its bytes; score: float64. group_start:
    first entry of each group, one more for the end; group_at, group_length: of the topic's id;
    group_line: line of the block, from 0, where it begins.
    """

    at: Int32
    length: Int32
    hash: Words
    score: FloatArray
    group_start: Int32
    group_at: Int32
    group_length: Int32
    group_line: IntArray

    @classmethod
    def with_room(cls, entries: int, groups: int) -> "Columns":
        """Empty columns for this number of entries and topics."""
        return cls(
            at=np.empty(entries, np.int32),
            length=np.empty(entries, np.int32),
            hash=np.empty(entries, np.uint64),
            score=np.empty(entries, np.float64),
            group_start=np.zeros(groups + 1, np.int32),
            group_at=np.empty(groups, np.int32),
            group_length=np.empty(groups, np.int32),
            group_line=np.empty(groups, np.int64),
        )

    def cut(self, entries: int, groups: int) -> "Columns":
        """The first entries and groups."""
        return Columns(
            at=self.at[:entries],
            length=self.length[:entries],
            hash=self.hash[:entries],
            score=self.score[:entries],
            group_start=self.group_start[: groups + 1],
            group_at=self.group_at[:groups],
            group_length=self.group_length[:groups],
            group_line=self.group_line[:groups],
        )

    def arrays(self) -> tuple[NDArray[Any], ...]:
        """The arrays in the order in which the C module takes them."""
        return tuple(vars(self).values())


class Index(NamedTuple):
    """Judged documents ready to be found: their bytes, and tables that differ by kernel."""

    letters: bytes
    at: Int32
    length: Int32
    hash: Words
    starts: IntArray
    tables: tuple[NDArray[Any], ...]
