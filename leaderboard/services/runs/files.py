"""Uploads as they were sent, read from the database without a copy on disk."""

import hashlib
from dataclasses import dataclass
from io import BufferedReader, RawIOBase
from typing import Any, Literal

from sqlalchemy import select

from leaderboard.checksums import belonging_to, damaged
from leaderboard.db.engine import Database
from leaderboard.db.tables import UploadChunk
from leaderboard.services.runs.prepare import CHUNK_BYTES, unpack_chunk


@dataclass(frozen=True, slots=True)
class StoredFile:
    """An upload's bytes; reads one piece at a time, each in a transaction of its own."""

    database: Database
    upload_id: int

    def require_whole(self, sha256: str) -> None:
        """Raise Damaged where the stored bytes are not those that were sent, by their digest."""
        with self.open() as sent:
            found = hashlib.file_digest(sent, "sha256").hexdigest()
        if found != sha256:
            raise damaged(f"bytes of upload {self.upload_id}", "their digest does not match")

    def open(self, mode: Literal["rb"] = "rb") -> BufferedReader:
        """The file from its beginning."""
        return BufferedReader(_Pieces(self.database, self.upload_id), CHUNK_BYTES)


class _Pieces(RawIOBase):
    """The stored pieces one after the other."""

    def __init__(self, database: Database, upload_id: int) -> None:
        self._database = database
        self._upload_id = upload_id
        self._number = 0
        self._rest = memoryview(b"")

    def readable(self) -> bool:
        """Always."""
        return True

    def readinto(self, buffer: Any) -> int:
        """Fill the buffer as far as the piece at hand goes; 0 at the end."""
        if not self._rest:
            self._rest = memoryview(self._next())
        size = min(len(buffer), len(self._rest))
        buffer[:size] = self._rest[:size]
        self._rest = self._rest[size:]
        return size

    def _next(self) -> bytes:
        with self._database.read() as session:
            piece = UploadChunk.upload_id == self._upload_id, UploadChunk.number == self._number
            body = session.scalar(select(UploadChunk.body).where(*piece))
        self._number += 1
        if body is None:
            return b""
        with belonging_to(f"upload {self._upload_id}"):
            return unpack_chunk(body)
