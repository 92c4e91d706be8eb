"""Checksums around everything that is stored as bytes: damage is an error, never another number.

A compressed body is a magic word, one zstd frame with its own checksum, and the CRC-32 of both; an array is
its numbers and their CRC-32. zstd's checksum alone would miss bits that decoding ignores.
Bodies and arrays of versions before 0.2 have no checksum and are read unchecked.
"""

import struct
import zlib
from collections.abc import Iterator
from contextlib import contextmanager

import zstandard

from leaderboard.errors import Damaged

_CRC = struct.Struct("<I")
_WORD = 8
"""Bytes of one number of an array: the remainder shows whether a checksum follows."""


def with_checksum(body: bytes) -> bytes:
    """The bytes followed by their checksum.

    >>> without_checksum(with_checksum(b"abc"), "letters")
    b'abc'
    """
    return body + _CRC.pack(zlib.crc32(body))


def without_checksum(stored: bytes, what: str) -> bytes:
    """The bytes before a checksum; raises Damaged, calling them by what they are, where it does not match."""
    body, checksum = stored[: -_CRC.size], stored[-_CRC.size :]
    if len(checksum) < _CRC.size or _CRC.unpack(checksum)[0] != zlib.crc32(body):
        raise damaged(what, "their checksum does not match")
    return body


def numbers(stored: bytes, what: str) -> bytes:
    """The bytes of an array of 8-byte numbers, stored with or, by earlier versions, without a checksum.

    >>> numbers(bytes(16), "scores") == numbers(with_checksum(bytes(16)), "scores")
    True
    """
    return stored if len(stored) % _WORD == 0 else without_checksum(stored, what)


def compressed(magic: bytes, plain: bytes, level: int) -> bytes:
    """The bytes in one zstd frame behind a magic word that names their layout, with a checksum."""
    return framed(magic, compressor(level).compress(plain))


def compressor(level: int) -> zstandard.ZstdCompressor:
    """Compressor for many bodies of one kind; each result is passed to `framed`."""
    return zstandard.ZstdCompressor(level=level, write_checksum=True)


def framed(magic: bytes, frame: bytes) -> bytes:
    """A zstd frame in its stored form."""
    return with_checksum(magic + frame)


def plain_bytes(magic: bytes, stored: bytes, what: str) -> bytes:
    """The input of `compressed`; raises Damaged, naming the object, for anything else.

    >>> plain_bytes(b"ABC1", compressed(b"ABC1", b"text", 1), "letters")
    b'text'
    """
    if not stored.startswith(magic):
        raise damaged(what, f"they begin with {stored[: len(magic)]!r}, not {magic!r}")
    frame = stored[len(magic) :]
    try:
        if zstandard.get_frame_parameters(frame).has_checksum:
            frame = without_checksum(stored, what)[len(magic) :]
        return zstandard.ZstdDecompressor().decompress(frame, allow_extra_data=False)
    except zstandard.ZstdError as error:
        raise damaged(what, "they cannot be decompressed") from error


def damaged(what: str, why: str) -> Damaged:
    """The error for stored bytes that are not as they were written; what: a plural, such as `rankings`."""
    return Damaged(
        f"The stored {what} are damaged, or were written by another version: {why}. `leaderboard db check` "
        "lists all damage; restore a backup to repair it.",
        what=what,
        why=why,
    )


@contextmanager
def belonging_to(owner: str) -> Iterator[None]:
    """Say in an error whose bytes are damaged: a run, a revision, an upload.

    >>> with belonging_to("run 7"):
    ...     without_checksum(b"12345", "rankings")
    Traceback (most recent call last):
    leaderboard.errors.Damaged: The stored rankings of run 7 are damaged, ...
    """
    try:
        yield
    except Damaged as error:
        raise damaged(f"{error.facts['what']} of {owner}", str(error.facts["why"])) from error
