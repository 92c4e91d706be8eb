"""The bytes of files that are sent in pieces: one file each in the data folder, whose length is the offset.

No row says how much came, so that a crash between the two cannot make them differ.
"""

import os
import sys
import time
from collections.abc import Collection, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Protocol

from leaderboard.errors import Conflict

if sys.platform == "win32":
    import msvcrt
else:
    import fcntl

FOLDER = "partial"
PIECE = 2**20
ORPHANED_AFTER_S = 3600
"""A file without a row is left alone this long: the row of a new one may not be committed yet."""
_FAR = 2**40
"""Windows locks bytes; one behind the end of any file keeps nobody from reading."""


class Stream(Protocol):
    """What bytes are read from."""

    def read(self, size: int, /) -> bytes:
        """Up to so many bytes, none at the end."""


def path_of(data: Path, partial_id: str) -> Path:
    """Where the bytes of a partial upload lie, under the data folder."""
    return data / FOLDER / partial_id


def offset(path: Path) -> int:
    """Bytes that came so far; 0 where the file is gone, as after a restored backup."""
    try:
        return path.stat().st_size
    except FileNotFoundError:
        return 0


@contextmanager
def held(path: Path) -> Iterator[IO[bytes]]:
    """The file, to be appended to; raises Conflict while another request has it."""
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    with path.open("ab") as file:
        try:
            _lock(file)
        except OSError:
            raise Conflict("Another request appends to this upload; ask for its offset and go on.") from None
        yield file


def _lock(file: IO[bytes]) -> None:
    # Two requests at one offset would both append; the end of the process frees the file.
    if sys.platform == "win32":
        file.seek(_FAR)
        msvcrt.locking(file.fileno(), msvcrt.LK_NBLCK, 1)
    else:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)


def append(file: IO[bytes], stream: Stream, most: int) -> None:
    """Append what the stream gives, `most` bytes at most; what was written stays where it fails."""
    try:
        while most and (piece := stream.read(min(PIECE, most))):
            file.write(piece)
            most -= len(piece)
    finally:
        file.flush()
        os.fsync(file.fileno())


def empty(path: Path) -> None:
    """Throw away what came; the file stays."""
    os.truncate(path, 0)


def remove(path: Path) -> None:
    """Remove the file, if it is there; one that is still open on Windows is left to the sweep."""
    with suppress(FileNotFoundError, PermissionError):
        path.unlink()


def sweep(data: Path, known: Collection[str]) -> None:
    """Remove the files whose rows are gone."""
    before = time.time() - ORPHANED_AFTER_S
    for path in (data / FOLDER).glob("*"):
        if path.name not in known and path.stat().st_mtime < before:
            remove(path)
