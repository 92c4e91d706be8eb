"""Uploads as they were sent, read from the database, or the object store, without a copy on disk."""

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from io import BufferedReader, RawIOBase
from tempfile import TemporaryFile
from typing import IO, Any, Literal

import zstandard
from sqlalchemy import select

from leaderboard.checksums import belonging_to, damaged
from leaderboard.db.engine import Database
from leaderboard.db.tables import StoredObject, UploadChunk
from leaderboard.errors import Damaged
from leaderboard.objects import ObjectStore, away
from leaderboard.services.runs.prepare import CHUNK_BYTES, unpack_chunk


@dataclass(frozen=True, slots=True)
class StoredFile:
    """An upload's bytes; reads one piece at a time, each in a transaction of its own.

    Reading raises StoreAway where the file is in an object store that does not answer.
    """

    database: Database
    upload_id: int

    def require_whole(self, sha256: str) -> None:
        """Raise Damaged where the stored bytes are not those that were sent, by their digest."""
        with self.open() as sent:
            found = hashlib.file_digest(sent, "sha256").hexdigest()
        if found != sha256:
            raise wrong_digest(self.upload_id)

    def whole(self, sha256: str) -> IO[bytes]:
        """The file from its beginning, once its digest was compared; raises as `require_whole` does.

        One in an object store is fetched once, into a temporary file: its bytes have to be paid for.
        """
        if not self._is_elsewhere():
            self.require_whole(sha256)
            return self.open()
        copy, digest = TemporaryFile(), hashlib.sha256()  # noqa: SIM115 (closed by who reads it)
        try:
            with self.open() as sent:
                while piece := sent.read(CHUNK_BYTES):
                    digest.update(piece)
                    copy.write(piece)
            if digest.hexdigest() != sha256:
                raise wrong_digest(self.upload_id)
        except BaseException:
            copy.close()
            raise
        copy.seek(0)
        return copy

    def _is_elsewhere(self) -> bool:
        with self.database.read() as session:
            kept = select(StoredObject.key).where(StoredObject.upload_id == self.upload_id)
            return session.scalar(kept) is not None

    def open(self, mode: Literal["rb"] = "rb") -> BufferedReader:
        """The file from its beginning."""
        return BufferedReader(_Pieces(self.database, self.upload_id), CHUNK_BYTES)


def wrong_digest(upload_id: int) -> Damaged:
    """The error for a file whose bytes are not those that were sent."""
    return damaged(f"bytes of upload {upload_id}", "their digest does not match")


class _Pieces(RawIOBase):
    """The stored pieces one after the other; a file that is moved meanwhile is followed to where it went."""

    def __init__(self, database: Database, upload_id: int) -> None:
        self._database = database
        self._upload_id = upload_id
        self._number = 0
        self._read = 0
        self._rest = memoryview(b"")
        self._object: Iterator[bytes] | None = None

    def readable(self) -> bool:
        """Always."""
        return True

    def readinto(self, buffer: Any) -> int:
        """Fill the buffer as far as the piece at hand goes; 0 at the end."""
        if not self._rest:
            piece = self._next()
            self._rest = memoryview(piece)
            self._read += len(piece)
        size = min(len(buffer), len(self._rest))
        buffer[:size] = self._rest[:size]
        self._rest = self._rest[size:]
        return size

    def _next(self) -> bytes:
        with belonging_to(f"upload {self._upload_id}"):
            if self._object is None:
                body, stored = self._looked_up()
                if body is not None:
                    return unpack_chunk(body)
                if stored is None:
                    return b""
                self._object = _plain(self._store(), stored, self._read)
            return next(self._object, b"")

    def _looked_up(self) -> tuple[bytes | None, StoredObject | None]:
        """The next piece; where there is none, the object that the file is in, if it is in one."""
        with self._database.read() as session:
            piece = UploadChunk.upload_id == self._upload_id, UploadChunk.number == self._number
            body = session.scalar(select(UploadChunk.body).where(*piece))
            self._number += 1
            kept = select(StoredObject).where(StoredObject.upload_id == self._upload_id)
            return body, session.scalar(kept) if body is None else None

    def _store(self) -> ObjectStore:
        if self._database.objects is None:
            raise away("LEADERBOARD_OBJECTS_URL is not set")
        return self._database.objects


def _plain(store: ObjectStore, stored: StoredObject, start: int) -> Iterator[bytes]:
    """What an object holds, from a place in the plain file on, a piece at a time."""
    with store.open(stored.key, stored.bytes) as packed:
        frames = zstandard.ZstdDecompressor().stream_reader(packed, read_across_frames=True)
        try:
            while piece := frames.read(CHUNK_BYTES):
                passed, start = piece[start:], max(0, start - len(piece))
                if passed:
                    yield passed
        except zstandard.ZstdError as error:
            raise damaged("files", f"{stored.key} in the object store cannot be decompressed") from error
