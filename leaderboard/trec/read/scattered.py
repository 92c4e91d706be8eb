"""Topics whose lines are scattered over a file, put together in memory."""

from collections.abc import Iterator
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from leaderboard.measures.judged import FloatArray
from leaderboard.trec.read import kernel
from leaderboard.trec.read.columns import Columns, Int32

Number = TypeVar("Number", bound=np.generic)

Whole = tuple[bytes, Columns, list[bytes], list[int]]
"""Body, columns, topics and first lines of whole topics."""
GROUP_ENTRIES = 50_000
"""About how many entries are put together at a time."""


class Scattered:
    """Collects the parts of topics; split names those that came in more than one."""

    def __init__(self) -> None:
        self.split: dict[bytes, None] = {}
        self._topics: dict[bytes, int] = {}
        self._first_lines: list[int] = []
        self._last = b""
        self._letters: list[bytes] = []
        self._lengths: list[Int32] = []
        self._scores: list[FloatArray] = []
        self._owners: list[Int32] = []

    def add(self, body: bytes | bytearray, columns: Columns, topics: list[bytes], lines: list[int]) -> None:
        """Take a block's entries, copying them; a topic may come again."""
        owners = np.empty(len(topics), np.int32)
        for group, (topic, line) in enumerate(zip(topics, lines, strict=True)):
            owner = self._topics.setdefault(topic, len(self._topics))
            if owner == len(self._first_lines):
                self._first_lines.append(line)
            elif topic != self._last:
                self.split[topic] = None
            owners[group], self._last = owner, topic
        every = np.arange(len(columns.at), dtype=np.int32)
        self._letters.append(kernel.joined(body, columns.at, columns.length, every))
        self._lengths.append(columns.length.copy())
        self._scores.append(columns.score.copy())
        self._owners.append(np.repeat(owners, np.diff(columns.group_start)))

    def together(self) -> Iterator[Whole]:
        """Whole topics, in order of arrival."""
        if not self._topics:
            return
        letters = b"".join((*self._letters, bytes(kernel.SLACK)))
        self._letters.clear()
        length, owner, score = _whole(self._lengths), _whole(self._owners), _whole(self._scores)
        at = np.cumsum(length, dtype=np.int32) - length
        order = np.argsort(owner, kind="stable").astype(np.int32)
        starts = np.searchsorted(owner[order], np.arange(len(self._topics) + 1))
        topics, first = list(self._topics), 0
        while first < len(topics):
            last = max(first + 1, int(np.searchsorted(starts, starts[first] + GROUP_ENTRIES, "right")) - 1)
            which = order[starts[first] : starts[last]]
            columns = Columns(
                at=at[which],
                length=length[which],
                hash=kernel.hashes(letters, at[which], length[which]),
                score=score[which],
                group_start=(starts[first : last + 1] - starts[first]).astype(np.int32),
                group_at=np.zeros(last - first, np.int32),
                group_length=np.zeros(last - first, np.int32),
                group_line=np.zeros(last - first, np.int64),
            )
            yield letters, columns, topics[first:last], self._first_lines[first:last]
            first = last


def _whole(parts: list[NDArray[Number]]) -> NDArray[Number]:
    """The parts as one array; they are dropped, since both together would be the peak of memory."""
    joined = np.concatenate(parts)
    parts.clear()
    return joined
