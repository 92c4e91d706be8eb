"""Kept pages that the web processes of one machine give each other: a file each, among the temporary ones.

A file has its name by rename, so that none is read half written, and begins with a digest that only processes
of this start can make: what an earlier program or another hand left there is never given.
"""

import hashlib
import logging
import os
import shutil
import tempfile
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import msgspec
import zstandard

from leaderboard.shared import Memory
from leaderboard.web.kept.coding import ZSTD, SentBody

log = logging.getLogger(__name__)

FOLDER = "kept"
DIGEST_BYTES = 16


@dataclass(frozen=True, slots=True)
class KeptFile:
    """What a file holds: the answer, packed, and until when, of time.monotonic(), it may be given."""

    body: bytes
    mimetype: str
    tag: str
    headers: dict[str, str]
    until: float

    def sent_body(self) -> SentBody:
        """The body as it was, with what it was packed in."""
        plain = zstandard.ZstdDecompressor().decompress(self.body)
        return SentBody(plain, self.mimetype, self.tag, {ZSTD: self.body})


class KeptFiles:
    """The files, of so many bytes together; versions that are over are removed."""

    def __init__(self, data: Path, memory: Memory, room: int) -> None:
        self._folder = data / "tmp" / FOLDER
        self._secret = memory.secret
        # What every process may add between its sweeps stays with what a sweep leaves within the room.
        self._left, self._added_most = room // 2, room // (2 * memory.processes)
        self._added = self._added_most

    def find(self, address: str, version: int) -> KeptFile | None:
        """What another process kept of an address in this version, None where that is nothing or damaged."""
        try:
            content = self._path(address, version).read_bytes()
        except OSError:
            return None
        if content[:DIGEST_BYTES] != self._digest(content[DIGEST_BYTES:]):
            return None
        found = msgspec.msgpack.decode(content[DIGEST_BYTES:], type=KeptFile)
        return found if found.until > time.monotonic() else None

    def keep(self, address: str, version: int, body: SentBody, headers: dict[str, str], until: float) -> None:
        """Let the other processes have a page; without room on the disk they make it themselves."""
        kept = KeptFile(body.packed(ZSTD), body.mimetype, body.tag, headers, until)
        content = msgspec.msgpack.encode(kept)
        try:
            self._write(self._path(address, version), self._digest(content) + content)
        except FileNotFoundError:
            # Another process knows of a newer version, and removed the folder.
            return
        except OSError as error:
            log.warning("a page could not be kept for other processes: %s", error)

    def drop_others(self, version: int) -> None:
        """Remove what is of any other version."""
        for folder in self._folder.glob("*"):
            if folder.name != str(version):
                shutil.rmtree(folder, ignore_errors=True)

    def _write(self, path: Path, content: bytes) -> None:
        self._added += len(content)
        if self._added > self._added_most:
            self._sweep()
            self._added = len(content)
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(dir=path.parent)
        try:
            with open(handle, "wb") as file:
                file.write(content)
            os.replace(name, path)
        except OSError:
            Path(name).unlink(missing_ok=True)
            raise

    def _sweep(self) -> None:
        """Remove the oldest files, half-written ones of killed processes too, down to half of the room."""
        found = []
        for path in self._folder.glob("*/*"):
            with suppress(FileNotFoundError):
                status = path.stat()
                found.append((status.st_mtime, status.st_size, path))
        total = sum(size for _, size, _ in found)
        for _, size, path in sorted(found):
            if total <= self._left:
                return
            path.unlink(missing_ok=True)
            total -= size

    def _path(self, address: str, version: int) -> Path:
        return self._folder / str(version) / self._digest(address.encode("utf-8", "replace")).hex()

    def _digest(self, content: bytes) -> bytes:
        return hashlib.blake2b(content, digest_size=DIGEST_BYTES, key=self._secret).digest()
