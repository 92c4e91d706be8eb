"""Compressed files to plain bytes: streaming, within limits, with a sentence for every refusal."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import import_module
from io import BufferedReader
from typing import BinaryIO, Literal, NamedTuple, Protocol

from leaderboard.errors import Invalid, Problem, TooLarge

READ_BYTES = 2**16
BLOCK_BYTES = 2**17
RATIO_FLOOR = 2**20
"""Plain bytes up to which no ratio is looked at: tiny files of one repeated line compress very well."""
MEMBERS = 100_000
"""Members one archive may be made of; each costs a copy of what is left of a read."""


@dataclass(frozen=True)
class Limits:
    """How large a file may be: plain_bytes in all, ratio of plain to compressed, line_bytes a line.

    memory: most bytes a decoder may ask for; `xz -9` needs half of the usual ones. buffer_bytes: most that
    lines of one topic may take at a time, None for any; beyond it TooSlow is raised.
    """

    plain_bytes: int = 2 * 2**30
    ratio: int = 200
    line_bytes: int = 1_000_000
    memory: int = 2**27
    buffer_bytes: int | None = None


DEFAULT_LIMITS = Limits()


class TooSlow(Exception):
    """Reading the file takes more time or memory than somebody who waits can be asked for."""


class TooWide(TooLarge):
    """Decompressing the file needs more memory than the limits allow."""


class _Codec(NamedTuple):
    name: str
    magic: bytes


_CODECS = (
    _Codec("gzip", b"\x1f\x8b"),
    _Codec("bzip2", b"BZh"),
    _Codec("xz", b"\xfd7zXZ\x00"),
    _Codec("zstd", b"\x28\xb5\x2f\xfd"),
)
_REFUSED = {
    b"PK\x05\x06": "empty zip",
    b"7z\xbc\xaf\x27\x1c": "7z",
    b"Rar!": "rar",
    b"\x1f\x9d": "compress (.Z)",
}
_ZIP = b"PK\x03\x04"
_PACKED = [codec.magic for codec in _CODECS] + list(_REFUSED)
HEAD_BYTES = 512
"""In which it is seen that a file is an archive."""


class Source(Protocol):
    """A file that can be read more than once: a path, or one kept elsewhere."""

    def open(self, mode: Literal["rb"]) -> BufferedReader:
        """The file from its beginning."""
        ...


def plain_blocks(path: Source, limits: Limits = DEFAULT_LIMITS) -> Iterator[bytes]:
    """The file's plain bytes in blocks of at most some MB; .gz, .bz2, .xz and .zst by their first bytes.

    Concatenated members are read as one, and a zip of one file as that file. Raises Invalid for other zips,
    for tar and other archives and for damaged or truncated ones, TooLarge beyond limits.plain_bytes,
    limits.ratio or limits.memory.
    """
    with _opened(path, limits) as file:
        head = file.peek(8)[:8]
        _refuse_archive(head)
        yield from _guarded(_raw(file, head, limits), limits, within=_codec(head) is not None)


@contextmanager
def plain_filler(path: Source, limits: Limits = DEFAULT_LIMITS) -> Iterator[Callable[[memoryview], int]]:
    """What fills a room with the file's next plain bytes and says how many they were: fewer at the end only.

    Bytes of a file that is not packed are copied nowhere else. Refuses what `plain_blocks` refuses.
    """
    with _opened(path, limits) as file:
        head = file.peek(HEAD_BYTES)[:HEAD_BYTES]
        _refuse_archive(head)
        if codec := _codec(head):
            yield _from_blocks(_guarded(_unpacked(file, codec, limits), limits, within=True))
        else:
            _refuse_content(head, within=False)
            yield _from_file(file, limits)


@contextmanager
def _opened(path: Source, limits: Limits) -> Iterator[BufferedReader]:
    """The file, or the one file of a zip: hidden ones, such as those of __MACOSX, do not count."""
    with path.open("rb") as file:
        if not file.peek(8).startswith(_ZIP):
            yield file
            return
        # Few files are zips, and a short command would wait for what reads them.
        with import_module("leaderboard.trec.read.bundles").only_file(file, limits) as member:
            yield member


def _from_file(file: BufferedReader, limits: Limits) -> Callable[[memoryview], int]:
    total = 0

    def fill(room: memoryview) -> int:
        nonlocal total
        count = file.readinto(room)
        total += count
        _refuse_length(total, limits)
        return count

    return fill


def _from_blocks(blocks: Iterator[bytes]) -> Callable[[memoryview], int]:
    left = memoryview(b"")

    def fill(room: memoryview) -> int:
        nonlocal left
        filled = 0
        while filled < len(room) and (left or (left := memoryview(next(blocks, b"")))):
            count = min(len(left), len(room) - filled)
            room[filled : filled + count] = left[:count]
            left, filled = left[count:], filled + count
        return filled

    return fill


def any_blocks(path: Source, limits: Limits = DEFAULT_LIMITS) -> Iterator[bytes]:
    """The plain bytes of a file whatever they are, as `plain_blocks` gives them: for readers of archives."""
    with path.open("rb") as file:
        yield from _raw(file, file.peek(8)[:8], limits)


def _raw(file: BinaryIO, head: bytes, limits: Limits) -> Iterator[bytes]:
    codec = _codec(head)
    return _unpacked(file, codec, limits) if codec else _blocks(file)


def _codec(head: bytes) -> _Codec | None:
    return next((known for known in _CODECS if head.startswith(known.magic)), None)


def is_longer(path: Source, plain_bytes: int, memory: int) -> bool:
    """Whether a file has more plain bytes than this, or takes more memory to decompress; False if damaged."""
    total = 0
    try:
        for block in plain_blocks(path, Limits(memory=memory)):
            total += len(block)
            if total > plain_bytes:
                return True
    except (Invalid, TooLarge) as error:
        return isinstance(error, TooWide)
    return False


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
        _refuse_length(total, limits)
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


def _unpacked(file: BinaryIO, codec: _Codec, limits: Limits) -> Iterator[bytes]:
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
    raise Invalid(f"The {codec.name} file is made of more than {MEMBERS:,} parts. Compress it in one go.")


def _member(packed: _Packed, codec: _Codec, limits: Limits) -> Iterator[bytes]:
    # Most files are plain, and a short command would wait for five libraries.
    decoders = import_module("leaderboard.trec.read.decoders")
    decoder, data = decoders.DECODERS[codec.name](limits.memory), b""
    while not decoder.eof:
        if decoder.needs_input and not (data := packed.read()):
            raise _broken(f"The {codec.name} file ends in the middle: it was cut off.")
        try:
            block = decoder.decompress(data, BLOCK_BYTES)
        except decoders.ERRORS as error:
            if "memory" in str(error).lower():
                raise TooWide(
                    f"The {codec.name} file needs more than {_size(limits.memory)} of memory to be read. "
                    "Compress the plain file at a lower level."
                ) from error
            raise _broken(f"The {codec.name} file is damaged ({error}).") from error
        yield block
        data = b""
    packed.put_back(decoder.unused_data)


def _another(packed: _Packed, codec: _Codec) -> bool:
    """Whether a further member follows; NUL bytes, as tapes leave them, are passed over."""
    while data := packed.read():
        if data := data.lstrip(b"\0"):
            if not data.startswith(codec.magic[: len(data)]):
                raise _broken(
                    f"The {codec.name} file has bytes after its end that are not {codec.name} data."
                )
            packed.put_back(data)
            return True
    return False


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
    if within and any(block.startswith(magic) for magic in _PACKED):
        raise _broken("The file is compressed twice.", "Send the file compressed once.")


def _refuse_length(total: int, limits: Limits) -> None:
    if total > limits.plain_bytes:
        raise TooLarge(f"The file is larger than {_size(limits.plain_bytes)} when decompressed. Split it.")


def _broken(rule: str, remedy: str = "Compress and send it again.") -> Invalid:
    return Invalid(f"{rule} {remedy}", [Problem(rule, remedy)])


def _size(count: int) -> str:
    return f"{count / 2**30:.3g} GiB" if count >= 2**30 else f"{count / 2**20:.3g} MiB"
