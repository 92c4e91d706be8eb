"""Files to their plain bytes, compressed or the one file of a zip; archives of more are refused."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from io import BufferedReader

from leaderboard.errors import Invalid, TooLarge
from leaderboard.trec.read.archives import (
    CODECS,
    DEFAULT_LIMITS,
    Limits,
    Source,
    TooWide,
    broken,
    codec_of,
    raw,
    size,
    unpacked,
)

_REFUSED = {
    b"PK\x05\x06": "empty zip",
    b"7z\xbc\xaf\x27\x1c": "7z",
    b"Rar!": "rar",
    b"\x1f\x9d": "compress (.Z)",
}
_ZIP = b"PK\x03\x04"
_PACKED = [codec.magic for codec in CODECS] + list(_REFUSED)
HEAD_BYTES = 512
"""Enough to recognise an archive."""


def plain_blocks(path: Source, limits: Limits = DEFAULT_LIMITS) -> Iterator[bytes]:
    """The file's plain bytes in blocks of at most some MB; .gz, .bz2, .xz and .zst by their first bytes.

    Concatenated members are read as one, and a zip of one file as that file. Raises Invalid for other zips,
    for tar and other archives and for damaged or truncated ones, TooLarge beyond limits.plain_bytes,
    limits.ratio or limits.memory.
    """
    with _opened(path, limits) as file:
        head = file.peek(8)[:8]
        _refuse_archive(head)
        yield from _guarded(raw(file, head, limits), limits, within=codec_of(head) is not None)


@contextmanager
def plain_filler(path: Source, limits: Limits = DEFAULT_LIMITS) -> Iterator[Callable[[memoryview], int]]:
    """Filler of a buffer with the file's next plain bytes; returns their number, less at the end.

    Bytes of a file that is not packed are copied nowhere else. Refuses what `plain_blocks` refuses.
    """
    with _opened(path, limits) as file:
        head = file.peek(HEAD_BYTES)[:HEAD_BYTES]
        _refuse_archive(head)
        if codec := codec_of(head):
            yield _from_blocks(_guarded(unpacked(file, codec, limits), limits, within=True))
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
        from leaderboard.trec.read.bundles import only_file

        with only_file(file, limits) as member:
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


def _guarded(blocks: Iterator[bytes], limits: Limits, within: bool) -> Iterator[bytes]:
    """The same blocks; refuses too many of them, and tar or doubly compressed content."""
    total = 0
    for block in blocks:
        if not total:
            _refuse_content(block, within)
        total += len(block)
        _refuse_length(total, limits)
        yield block


def _refuse_archive(head: bytes) -> None:
    for magic, name in _REFUSED.items():
        if head.startswith(magic):
            raise broken(
                f"This is a {name} archive.", "Submit the file itself, plain or as .gz, .bz2, .xz or .zst."
            )


def _refuse_content(block: bytes, within: bool) -> None:
    if block[257:262] == b"ustar":
        raise broken("This is a tar archive.", "Submit the file in it, plain or as .gz, .bz2, .xz or .zst.")
    if within and any(block.startswith(magic) for magic in _PACKED):
        raise broken("The file is compressed twice.", "Compress the file only once.")


def _refuse_length(total: int, limits: Limits) -> None:
    if total > limits.plain_bytes:
        raise TooLarge(f"The file is larger than {size(limits.plain_bytes)} when decompressed. Split it.")
