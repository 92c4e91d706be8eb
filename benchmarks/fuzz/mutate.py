"""Files made from others: pieces replaced, doubled, moved, cut off, bits flipped."""

import random
from collections.abc import Callable, Sequence

from benchmarks.fuzz.corpus import FRAGMENTS

MOST_STEPS = 6
MOST_REPEATS = 400
MOST_BYTES = 2**18


def mutated(source: random.Random, files: Sequence[bytes]) -> bytes:
    """One of the files after some steps; the same source makes the same file for ever."""
    content = bytearray(source.choice(files))
    for _ in range(source.randrange(MOST_STEPS + 1)):
        source.choice(_STEPS)(source, content, files)
        del content[MOST_BYTES:]
    return bytes(content)


def _span(source: random.Random, content: bytearray, most: int) -> slice:
    start = source.randrange(len(content) + 1)
    return slice(start, min(len(content), start + source.randrange(most + 1)))


def _replace(source: random.Random, content: bytearray, files: Sequence[bytes]) -> None:
    content[_span(source, content, 5)] = source.choice(FRAGMENTS)


def _scribble(source: random.Random, content: bytearray, files: Sequence[bytes]) -> None:
    content[_span(source, content, 5)] = source.randbytes(source.randrange(4))


def _flip(source: random.Random, content: bytearray, files: Sequence[bytes]) -> None:
    if content:
        content[source.randrange(len(content))] ^= 1 << source.randrange(8)


def _double(source: random.Random, content: bytearray, files: Sequence[bytes]) -> None:
    where = _span(source, content, 60)
    content[where] = content[where] * source.choice((2, 3, MOST_REPEATS))


def _cut(source: random.Random, content: bytearray, files: Sequence[bytes]) -> None:
    del content[source.randrange(len(content) + 1) :]


def _move_lines(source: random.Random, content: bytearray, files: Sequence[bytes]) -> None:
    lines = content.split(b"\n")
    source.shuffle(lines)
    content[:] = b"\n".join(lines)


def _join(source: random.Random, content: bytearray, files: Sequence[bytes]) -> None:
    where = source.randrange(len(content) + 1)
    content[where:where] = source.choice(files)


def _end_otherwise(source: random.Random, content: bytearray, files: Sequence[bytes]) -> None:
    content[:] = content.replace(b"\n", source.choice((b"\r", b"\r\n", b"\r\r\n", b" \n", b"\n\n")))


_STEPS: tuple[Callable[[random.Random, bytearray, Sequence[bytes]], None], ...] = (
    *(_replace, _replace, _replace, _scribble, _scribble, _flip, _flip, _double, _cut),
    *(_move_lines, _join, _end_otherwise),
)
