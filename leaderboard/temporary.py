"""Temporary files of a site: one folder, in the data folder, emptied when a web process starts alone."""

import os
import shutil
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from io import BufferedRandom
from pathlib import Path
from typing import IO

if sys.platform != "win32":
    import fcntl

UPLOAD = "upload-"
"""Prefix of folders for the files of one request."""
STALE_AFTER_S = 24 * 3600

_locks: list[IO[bytes]] = []
"""Locks that this process holds until it ends."""


def folder(data: Path) -> Path:
    """The folder of temporary files, created if missing."""
    path = data / "tmp"
    path.mkdir(mode=0o700, parents=True, exist_ok=True)
    return path


def use(data: Path) -> None:
    """Put all temporary files of this process there."""
    tempfile.tempdir = str(folder(data).resolve())


def clean(data: Path) -> None:
    """Remove what processes that crashed left; from now on this process uses the folder."""
    path = folder(data)
    if sys.platform == "win32":
        sweep(path, STALE_AFTER_S)
        return
    users = (path / "users").open("wb")
    _locks.append(users)
    sweep(path, 0 if _is_alone(users) else STALE_AFTER_S)
    # Shared with all who use the folder: a process that starts now waits until the sweep is over.
    fcntl.flock(users, fcntl.LOCK_SH)


def sweep(here: Path, older_than_s: float) -> None:
    """Remove the uploads in a folder of temporary files that are older than this, in seconds."""
    for left in here.glob(f"{UPLOAD}*"):
        if left.is_dir() and left.stat().st_mtime <= time.time() - older_than_s:
            shutil.rmtree(left, ignore_errors=True)


def _is_alone(users: IO[bytes]) -> bool:
    """Whether no other process uses the folder."""
    try:
        fcntl.flock(users, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


@contextmanager
def whole_file(path: Path, mode: int = 0o600) -> Iterator[BufferedRandom]:
    """A file that has its name once it is whole; nothing is left of it where anything fails."""
    part = path.with_name(f"{path.name}.part")
    part.unlink(missing_ok=True)
    file = os.fdopen(os.open(part, os.O_RDWR | os.O_CREAT | os.O_EXCL, mode), "w+b")
    try:
        # Unwritten data may find no space when the file is closed.
        with file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        os.replace(part, path)
    finally:
        part.unlink(missing_ok=True)
