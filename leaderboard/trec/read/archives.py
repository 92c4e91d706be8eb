"""Compressed files to plain bytes: streaming, within limits, with a sentence for every refusal."""

import bz2
import lzma
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from io import BufferedReader
from typing import Any, BinaryIO, Literal, Protocol

import zstandard

from leaderboard.errors import Invalid, Problem, TooLarge

try:
    from isal import isal_zlib
except ImportError:  # no build of it for this processor
    isal_zlib = None  # type: ignore[assignment]

_zlib: Any = isal_zlib or zlib

READ_BYTES = 2**16
BLOCK_BYTES = 2**17
RATIO_FLOOR = 2**20
"""Plain bytes up to which no ratio is looked at: tiny files of one repeated line compress very well."""
MEMBERS = 100_000
"""Members one archive may be made of; each costs a copy of what is left of a read."""
MEMORY = 2**27
"""Most memory a decoder may ask for; `xz -9` needs half of it."""


@dataclass(frozen=True)
class Limits:
    """How large a file may be: plain_bytes in all, ratio of plain to compressed, line_bytes a line."""

    plain_bytes: int = 2 * 2**30
    ratio: int = 200
    line_bytes: int = 1_000_000


DEFAULT_LIMITS = Limits()


class _Decoder(Protocol):
    """What the decoders of bz2 and lzma have in common."""

    @property
    def eof(self) -> bool: ...
    @property
    def needs_input(self) -> bool: ...
    @property
    def unused_data(self) -> bytes: ...
    def decompress(self, data: bytes, max_length: int = -1) -> bytes: ...


class _Inflater(Protocol):
    """What zlib's decoder and isal's have in common."""

    @property
    def eof(self) -> bool: ...
    @property
    def unused_data(self) -> bytes: ...
    @property
    def unconsumed_tail(self) -> bytes: ...
    def decompress(self, data: bytes, max_length: int = 0) -> bytes: ...


class _Gzip:
    """The decoder of one gzip member with the interface of bz2's."""

    def __init__(self) -> None:
        self._inner: _Inflater = _zlib.decompressobj(31)
        self.needs_input = True

    @property
    def eof(self) -> bool:
        return self._inner.eof

    @property
    def unused_data(self) -> bytes:
        return self._inner.unused_data

    def decompress(self, data: bytes, max_length: int = -1) -> bytes:
        out = self._inner.decompress(self._inner.unconsumed_tail + data, max_length)
        # Output can wait inside zlib although all input was taken.
        self.needs_input = not self._inner.unconsumed_tail and len(out) < max_length
        return out


class _Zstd:
    """zstandard's decoder of one frame with the interface of bz2's."""

    # A block of 4 bytes can stand for 128 KB and output cannot be bounded: so input is, at 16 MB a step.
    STEP = 512

    def __init__(self) -> None:
        self._inner = zstandard.ZstdDecompressor(max_window_size=MEMORY).decompressobj()
        self._pending = memoryview(b"")

    @property
    def eof(self) -> bool:
        return self._inner.eof

    @property
    def needs_input(self) -> bool:
        return not self._pending

    @property
    def unused_data(self) -> bytes:
        return self._inner.unused_data + bytes(self._pending)

    def decompress(self, data: bytes, max_length: int = -1) -> bytes:
        if data:
            self._pending = memoryview(data)
        step, self._pending = self._pending[: self.STEP], self._pending[self.STEP :]
        return self._inner.decompress(step)


@dataclass(frozen=True)
class _Codec:
    name: str
    magic: bytes
    decoder: Callable[[], _Decoder]


_CODECS = (
    _Codec("gzip", b"\x1f\x8b", _Gzip),
    _Codec("bzip2", b"BZh", bz2.BZ2Decompressor),
    _Codec("xz", b"\xfd7zXZ\x00", lambda: lzma.LZMADecompressor(lzma.FORMAT_XZ, memlimit=MEMORY)),
    _Codec("zstd", b"\x28\xb5\x2f\xfd", _Zstd),
)
_REFUSED = {
    b"PK\x03\x04": "zip",
    b"PK\x05\x06": "zip",
    b"7z\xbc\xaf\x27\x1c": "7z",
    b"Rar!": "rar",
    b"\x1f\x9d": "compress (.Z)",
}
_DECODER_ERRORS = (
    zlib.error,
    _zlib.error,
    OSError,
    lzma.LZMAError,
    zstandard.ZstdError,
    EOFError,
    ValueError,
)


class Source(Protocol):
    """A file that can be read more than once: a path, or one kept elsewhere."""

    def open(self, mode: Literal["rb"]) -> BufferedReader:
        """The file from its beginning."""
        ...


def plain_blocks(path: Source, limits: Limits = DEFAULT_LIMITS) -> Iterator[bytes]:
    """The file's plain bytes in blocks of at most some MB; .gz, .bz2, .xz and .zst by their first bytes.

    Concatenated members are read as one. Raises Invalid for zip, tar and other archives and for damaged or
    truncated ones, TooLarge beyond limits.plain_bytes or limits.ratio.
    """
    with path.open("rb") as file:
        head = file.peek(8)[:8]
        _refuse_archive(head)
        codec = next((known for known in _CODECS if head.startswith(known.magic)), None)
        raw = _unpacked(file, codec, limits) if codec else _blocks(file)
        yield from _guarded(raw, limits, within=codec is not None)


def _blocks(file: BinaryIO) -> Iterator[bytes]:
    while block := file.read(BLOCK_BYTES):
        yield block


def _guarded(blocks: Iterator[bytes], limits: Limits, within: bool) -> Iterator[bytes]:
    """The same blocks; refuses too many of them, and tar or doubly compressed content."""
    total = 0
    for block in blocks:
        if not total:
            _refuse_content(block, within)
        total += len(block)
        if total > limits.plain_bytes:
            raise TooLarge(
                f"The file is larger than {_size(limits.plain_bytes)} when decompressed. Split it."
            )
        yield block


def _unpacked(file: BinaryIO, codec: _Codec, limits: Limits) -> Iterator[bytes]:
    name, decoder, rest, members, fresh = codec.name, codec.decoder(), b"", 0, True
    used = total = 0
    while data := rest or file.read(READ_BYTES):
        used, rest = used + len(data), b""
        if fresh and members:
            if not (data := data.lstrip(b"\0")):
                continue
            if not data.startswith(codec.magic[: len(data)]):
                raise _broken(f"The {name} file has bytes after its end that are no {name} data.")
        fresh = False
        while True:
            block = _decoded(decoder, data, name)
            total += len(block)
            if total > max(RATIO_FLOOR, limits.ratio * used):
                raise TooLarge(
                    f"The {name} file expands more than {limits.ratio} times; that is no run or text file. "
                    "Compress the plain file once, without padding."
                )
            if block:
                yield block
            if decoder.eof or decoder.needs_input:
                break
            data = b""
        if decoder.eof:
            rest, fresh, members = decoder.unused_data, True, members + 1
            used -= len(rest)
            decoder = codec.decoder()
            if members > MEMBERS:
                raise Invalid(
                    f"The {name} file is made of more than {MEMBERS:,} parts. Compress it in one go."
                )
    if not fresh:
        raise _broken(f"The {name} file ends in the middle: it was cut off.")


def _decoded(decoder: _Decoder, data: bytes, name: str) -> bytes:
    try:
        return decoder.decompress(data, BLOCK_BYTES)
    except _DECODER_ERRORS as error:
        raise _broken(f"The {name} file is damaged ({error}).") from error


def _refuse_archive(head: bytes) -> None:
    for magic, name in _REFUSED.items():
        if head.startswith(magic):
            raise _broken(
                f"This is a {name} archive.", "Send the file itself, plain or as .gz, .bz2, .xz or .zst."
            )


def _refuse_content(block: bytes, within: bool) -> None:
    if block[257:262] == b"ustar":
        raise _broken(
            "This is a tar archive.", "Send the file inside it, plain or as .gz, .bz2, .xz or .zst."
        )
    if within and any(block.startswith(magic) for magic in (*(codec.magic for codec in _CODECS), *_REFUSED)):
        raise _broken("The file is compressed twice.", "Send the file compressed once.")


def _broken(rule: str, remedy: str = "Compress and send it again.") -> Invalid:
    return Invalid(f"{rule} {remedy}", [Problem(rule, remedy)])


def _size(count: int) -> str:
    return f"{count / 2**30:.3g} GiB" if count >= 2**30 else f"{count / 2**20:.3g} MiB"
