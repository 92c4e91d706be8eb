"""A file's plain bytes in one buffer that is filled again and again, cut at line ends."""

from collections import deque
from collections.abc import Iterator
from contextlib import suppress

from leaderboard.trec.read.archives import Source, TooSlow
from leaderboard.trec.read.kernel import SLACK
from leaderboard.trec.read.lines import BOM, Limits
from leaderboard.trec.read.plain import plain_filler

BUFFER_BYTES = 2**20
_SPARE: deque[bytearray] = deque(maxlen=4)
"""Bodies that nothing needs any more: new memory, cleared, takes as long as reading a small file."""


def spare(size: int) -> bytearray:
    """A body of this size, with anything in it."""
    with suppress(IndexError):
        if len(body := _SPARE.pop()) == size:
            return body
    return bytearray(size)


give_back = _SPARE.append
"""Lets a body be used again, once nothing looks at it any more."""


class TooLong(Exception):
    """A line is longer than the limits allow."""


class Buffer:
    """Yields itself filled: body[:end] is whole lines, SLACK bytes follow; final says it was the last time.

    The reader sets taken to the number of bytes it has consumed; the rest stays for the next time, and the
    buffer grows where nothing was consumed. Who keeps the body for longer sets following to another one as
    long, which is filled the next time. marked: whether the file began with a byte order mark.
    """

    def __init__(self, path: Source, limits: Limits) -> None:
        self.body = bytearray()
        self.end = 0
        self.final = False
        self.taken = 0
        self.following: bytearray | None = None
        self.marked = False
        self._path = path
        self._limits = limits

    def __iter__(self) -> Iterator["Buffer"]:
        """Fill, cut, yield; raises TooLong, TooSlow, and whatever plain_blocks raises."""
        size = min(BUFFER_BYTES, self._limits.line_bytes)
        self.body = spare(size + SLACK)
        with plain_filler(self._path, self._limits) as fill:
            filled = self._without_mark(fill(memoryview(self.body)[:size]))
            while True:
                if filled < size:
                    filled += fill(memoryview(self.body)[filled:size])
                if filled < size:
                    break
                self.end, self.taken = self.body.rfind(b"\n", 0, filled) + 1, 0
                if self.end:
                    yield self
                elif filled > self._limits.line_bytes:
                    raise TooLong
                if self.taken:
                    filled = self._move(filled)
                else:
                    size *= 2
                    if self._limits.buffer_bytes is not None and size > self._limits.buffer_bytes:
                        raise TooSlow
                    # A new one: arrays over the old one keep it from being resized.
                    self.body = self.body[:filled] + bytearray(size - filled + SLACK)
        if filled:
            self.end = filled + (self.body[filled - 1] != ord("\n"))
            self.body[self.end - 1] = ord("\n")
            self.final = True
            yield self
        give_back(self.following or self.body)

    def _without_mark(self, filled: int) -> int:
        """Filled length after a byte order mark at the beginning was dropped."""
        self.marked = self.body.startswith(BOM, 0, filled)
        if not self.marked:
            return filled
        self.body[: filled - len(BOM)] = self.body[len(BOM) : filled]
        return filled - len(BOM)

    def _move(self, filled: int) -> int:
        """Move unread bytes to the beginning of the next body; returns their number."""
        rest = self.body[self.taken : filled]
        self.body, self.following = self.following or self.body, None
        self.body[: len(rest)] = rest
        return len(rest)
