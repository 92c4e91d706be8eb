"""Compressed files to their bytes: streaming, within limits, with a sentence for every refusal."""

from collections.abc import Iterator
from dataclasses import dataclass
from io import BufferedReader
from typing import BinaryIO, Literal, NamedTuple, Protocol

from leaderboard.errors import Invalid, Problem, TooLarge

READ_BYTES = 2**16
BLOCK_BYTES = 2**17
RATIO_FLOOR = 2**20
"""Plain bytes up to which the ratio is not checked: tiny files of one repeated line compress very well."""
MEMBERS = 100_000
"""Maximum members of an archive; each costs a copy of the rest of a read."""


@dataclass(frozen=True)
class Limits:
    """Limits of a file: plain_bytes in all, ratio of plain to compressed, line_bytes a line.

    memory: most bytes a decoder may request; `xz -9` needs half of the usual ones. buffer_bytes: most for the
    lines of one topic at a time, None for any; beyond it TooSlow is raised.
    """

    plain_bytes: int = 2 * 2**30
    ratio: int = 200
    line_bytes: int = 1_000_000
    memory: int = 2**27
    buffer_bytes: int | None = None


DEFAULT_LIMITS = Limits()


class TooSlow(Exception):
    """Reading the file takes too much time or memory for a waiting sender."""


class TooWide(TooLarge):
    """Decompressing the file needs more memory than the limits allow."""


class _Codec(NamedTuple):
    name: str
    magic: bytes


CODECS = (
    _Codec("gzip", b"\x1f\x8b"),
    _Codec("bzip2", b"BZh"),
    _Codec("xz", b"\xfd7zXZ\x00"),
    _Codec("zstd", b"\x28\xb5\x2f\xfd"),
)


class Source(Protocol):
    """A file that can be read more than once: a path, or one kept elsewhere."""

    def open(self, mode: Literal["rb"]) -> BufferedReader:
        """The file from its beginning."""
        ...


def any_blocks(path: Source, limits: Limits = DEFAULT_LIMITS) -> Iterator[bytes]:
    """The plain bytes of any file, as `plain_blocks` gives them: for readers of archives."""
    with path.open("rb") as file:
        yield from raw(file, file.peek(8)[:8], limits)


def raw(file: BinaryIO, head: bytes, limits: Limits) -> Iterator[bytes]:
    """The bytes of an open file that begins with head, decompressed where they are compressed."""
    codec = codec_of(head)
    return unpacked(file, codec, limits) if codec else _blocks(file)


def codec_of(head: bytes) -> _Codec | None:
    """Compression of a file by its first bytes; None if it is not compressed."""
    return next((codec for codec in CODECS if head.startswith(codec.magic)), None)


def _blocks(file: BinaryIO) -> Iterator[bytes]:
    while block := file.read(READ_BYTES):
        yield block


class _Packed:
    """A compressed file, read in pieces; `used` is how many bytes have been read and not put back."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self._rest = b""
        self.used = 0

    def read(self) -> bytes:
        data, self._rest = self._rest or self._file.read(READ_BYTES), b""
        self.used += len(data)
        return data

    def put_back(self, rest: bytes) -> None:
        self._rest = rest
        self.used -= len(rest)


def unpacked(file: BinaryIO, codec: _Codec, limits: Limits) -> Iterator[bytes]:
    """The plain bytes of all members; refuses them when they are too many for what they were packed into."""
    packed, total = _Packed(file), 0
    for block in _members(packed, codec, limits):
        total += len(block)
        if total > max(RATIO_FLOOR, limits.ratio * packed.used):
            raise TooLarge(
                f"The {codec.name} file expands more than {limits.ratio} times; no run or text file does. "
                "Compress the plain file once, without padding."
            )
        if block:
            yield block


def _members(packed: _Packed, codec: _Codec, limits: Limits) -> Iterator[bytes]:
    for _ in range(MEMBERS):
        yield from _member(packed, codec, limits)
        if not _another(packed, codec):
            return
    raise Invalid(f"The {codec.name} file consists of more than {MEMBERS:,} parts. Compress it in one step.")


def _member(packed: _Packed, codec: _Codec, limits: Limits) -> Iterator[bytes]:
    # Most files are plain, and a short command would wait for five libraries.
    from leaderboard.trec.read import decoders

    decoder, data = decoders.DECODERS[codec.name](limits.memory), b""
    while not decoder.eof:
        if decoder.needs_input and not (data := packed.read()):
            raise broken(f"The {codec.name} file ends in the middle: it was cut off.")
        try:
            block = decoder.decompress(data, BLOCK_BYTES)
        except decoders.ERRORS as error:
            if "memory" in str(error).lower():
                raise TooWide(
                    f"The {codec.name} file needs more than {size(limits.memory)} of memory to be read. "
                    "Compress the plain file at a lower level."
                ) from error
            raise broken(f"The {codec.name} file is damaged ({error}).") from error
        yield block
        data = b""
    packed.put_back(decoder.unused_data)


def _another(packed: _Packed, codec: _Codec) -> bool:
    """Whether a further member follows; NUL bytes, as tapes leave them, are skipped."""
    while data := packed.read():
        if data := data.lstrip(b"\0"):
            if not data.startswith(codec.magic[: len(data)]):
                raise broken(f"The {codec.name} file has bytes after its end that are not {codec.name} data.")
            packed.put_back(data)
            return True
    return False


def broken(rule: str, remedy: str = "Compress it again and resubmit it.") -> Invalid:
    """The error of a file that is not read."""
    return Invalid(f"{rule} {remedy}", [Problem(rule, remedy)])


def size(count: int) -> str:
    """A number of bytes as text."""
    return f"{count / 2**30:.3g} GiB" if count >= 2**30 else f"{count / 2**20:.3g} MiB"
