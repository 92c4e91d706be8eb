"""A bundle as it is written: a folder, a .zip or a .tar.gz that appears under its name when it is whole."""

import hashlib
import os
import shutil
import tarfile
import time
import zipfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import SpooledTemporaryFile
from typing import IO, Protocol

from leaderboard.errors import Conflict

SUMS = "SHA256SUMS"
SPOOL_BYTES = 2**20
"""Bytes of a member up to which it is held in memory: a tar wants to know its size before its first byte."""
PACKED = (".gz", ".bz2", ".xz", ".zst", ".png", ".jpg")
"""Endings of what does not get smaller."""
TAR_ENDINGS = (".tar.gz", ".tgz")
NO_TIME = 315_532_800.0
"""The first moment that a zip can say, 1980: for bundles that do not tell when they were made."""

Pieces = Iterable[bytes]
Progress = Callable[[str, int], object]
"""Is told of each member when it is written: its path and bytes."""


class _Target(Protocol):
    """Where members go."""

    def put(self, path: str, pieces: Pieces) -> None:
        """Write a member."""
        ...


class BundleWriter:
    """Writes members one after the other, and at last the list of their digests."""

    def __init__(self, target: _Target, progress: Progress = lambda *_: None) -> None:
        self._target, self._progress = target, progress
        self.sums: dict[str, str] = {}
        """Path -> SHA-256 of what was written."""
        self.sizes: dict[str, int] = {}

    def add(self, path: str, pieces: Pieces) -> None:
        """Write a member; its pieces are never all held at once."""
        self._target.put(path, self._counted(path, pieces))
        self._progress(path, self.sizes[path])

    def text(self, path: str, text: str) -> None:
        """Write a member that is a text."""
        self.add(path, [text.encode()])

    def finish(self) -> None:
        """Write the digests, as `sha256sum -c` reads them."""
        lines = [f"{self.sums[path]}  {path}\n" for path in sorted(self.sums)]
        self._target.put(SUMS, ["".join(lines).encode()])

    def _counted(self, path: str, pieces: Pieces) -> Iterator[bytes]:
        digest, size = hashlib.sha256(), 0
        for piece in pieces:
            digest.update(piece)
            size += len(piece)
            yield piece
        self.sums[path], self.sizes[path] = digest.hexdigest(), size


@contextmanager
def writer(path: Path, progress: Progress = lambda *_: None) -> Iterator[BundleWriter]:
    """What writes a bundle: .zip, .tar.gz or .tgz by the name's end, anything else is a folder.

    Files are readable by their owner only. Nothing is left of it where anything fails; a file of that name is
    replaced. Raises Conflict where the folder holds anything already.
    """
    part = path.with_name(f".{path.name}.part")
    _remove(part)
    try:
        if is_folder(path):
            if path.exists() and (not path.is_dir() or any(path.iterdir())):
                raise Conflict(f"{path} is there already: name a folder that is not, or that is empty.")
            part.mkdir(mode=0o700)
            with _finished(BundleWriter(_Folder(part), progress)) as made:
                yield made
            if path.exists():
                path.rmdir()
        else:
            with os.fdopen(os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
                with archived(file, is_zip=path.name.lower().endswith(".zip"), progress=progress) as made:
                    yield made
                file.flush()
                os.fsync(file.fileno())
        os.replace(part, path)
    finally:
        _remove(part)


@contextmanager
def archived(
    file: IO[bytes], *, is_zip: bool, progress: Progress = lambda *_: None, at: float | None = None
) -> Iterator[BundleWriter]:
    """What writes a bundle as an archive into a file, which need not be able to go back.

    at: when its members were made, in seconds since 1970; None: now.
    """
    at = time.time() if at is None else at
    if is_zip:
        with (
            zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive,
            _finished(BundleWriter(_Zip(archive, at), progress)) as made,
        ):
            yield made
        return
    with (
        tarfile.open(fileobj=file, mode="w|gz", format=tarfile.GNU_FORMAT) as tar,
        _finished(BundleWriter(_Tar(tar, at), progress)) as made,
    ):
        yield made


def is_folder(path: Path) -> bool:
    """Whether a bundle of that name is a folder.

    >>> is_folder(Path("task.zip")), is_folder(Path("task.tar.gz")), is_folder(Path("task"))
    (False, False, True)
    """
    return not path.name.lower().endswith((".zip", *TAR_ENDINGS))


@contextmanager
def _finished(made: BundleWriter) -> Iterator[BundleWriter]:
    yield made
    made.finish()


class _Folder:
    """Members as files of a folder."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def put(self, path: str, pieces: Pieces) -> None:
        """Write a file."""
        target = self._folder / path
        target.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        with os.fdopen(os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
            for piece in pieces:
                file.write(piece)


class _Zip:
    """Members of a zip; what is packed already is stored as it is."""

    def __init__(self, archive: zipfile.ZipFile, at: float) -> None:
        self._archive = archive
        self._at = time.gmtime(at)[:6]

    def put(self, path: str, pieces: Pieces) -> None:
        """Write a member."""
        info = zipfile.ZipInfo(path, self._at)
        info.compress_type = zipfile.ZIP_STORED if path.endswith(PACKED) else zipfile.ZIP_DEFLATED
        info.external_attr = 0o600 << 16
        with self._archive.open(info, "w", force_zip64=True) as file:
            for piece in pieces:
                file.write(piece)


class _Tar:
    """Members of a tar."""

    def __init__(self, archive: tarfile.TarFile, at: float) -> None:
        self._archive = archive
        self._at = int(at)

    def put(self, path: str, pieces: Pieces) -> None:
        """Write a member."""
        with SpooledTemporaryFile(max_size=SPOOL_BYTES) as file:
            for piece in pieces:
                file.write(piece)
            info = tarfile.TarInfo(path)
            info.size, info.mtime, info.mode = file.tell(), self._at, 0o600
            file.seek(0)
            self._archive.addfile(info, file)


def _remove(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)
