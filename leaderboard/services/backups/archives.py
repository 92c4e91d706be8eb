"""A backup as a file: a line that names the form, one zstd frame of records, and a SHA-256 of all before it.

A record is the length of its JSON (uint32, little-endian), that JSON, and, of a row, the bytes of its binary
columns, whose lengths stand in their place in the row. First comes a record of the backup; then, for each
table, one of its columns, its rows, and one of their number and SHA-256; at last one of the number of tables.
"""

import hashlib
import json
import os
import struct
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from io import BufferedRandom
from pathlib import Path
from typing import IO, Any

import zstandard

from leaderboard.errors import Damaged
from leaderboard.services.backups.rows import Row, RowTable
from leaderboard.temporary import whole_file

FORM = b"leaderboard backup, form 1\n"
LEVEL = 3
PIECE = 2**20
_LENGTH = struct.Struct("<I")
_DIGEST_BYTES = hashlib.sha256().digest_size


@dataclass(frozen=True, slots=True)
class BackupHead:
    """What a backup says of itself: schema, version of the program, the moment in UTC, kind of database."""

    schema: str
    program: str
    made_at: str
    database: str


@dataclass(frozen=True, slots=True)
class TableCount:
    """How many rows a table has, and the digest of them all in order."""

    table: str
    rows: int
    sha256: str


class CountedRows:
    """Rows on their way through: their number and digest, once they all have passed."""

    def __init__(self, table: RowTable, rows: Iterable[Row]) -> None:
        self._table, self._rows, self._number = table, rows, 0
        self._digest = hashlib.sha256()

    def __iter__(self) -> Iterator[Row]:
        """The rows as they are."""
        for row in self._rows:
            self._digest.update(packed_row(row))
            self._number += 1
            yield row

    def count(self) -> TableCount:
        """What has passed so far."""
        return TableCount(self._table.name, self._number, self._digest.hexdigest())


def packed_row(row: Row) -> bytes:
    """A row as its record.

    >>> unpacked = json.loads(packed_row((1, "a", b"xyz"))[4:-3])
    >>> unpacked
    [1, 'a', 3]
    """
    plain = [len(value) if isinstance(value, bytes) else value for value in row]
    return _packed(plain) + b"".join(value for value in row if isinstance(value, bytes))


class BackupWriter:
    """Writes the tables of a backup, see `written`."""

    def __init__(self, file: BufferedRandom, head: BackupHead) -> None:
        self._file = file
        self._file.write(FORM)
        compressor = zstandard.ZstdCompressor(level=LEVEL, write_checksum=True)
        self._frame = compressor.stream_writer(self._file, closefd=False)
        self._frame.write(_packed(asdict(head)))
        self._counts: list[TableCount] = []

    def add(self, table: RowTable, rows: Iterable[Row]) -> TableCount:
        """Write a table; how many rows it has, and their digest."""
        self._frame.write(_packed({"table": asdict(table)}))
        counted = CountedRows(table, rows)
        for row in counted:
            self._frame.write(packed_row(row))
        count = counted.count()
        self._frame.write(_packed({"count": asdict(count)}))
        self._counts.append(count)
        return count

    def finish(self) -> None:
        """Write the number of tables, and the digest of all."""
        self._frame.write(_packed({"tables": len(self._counts)}))
        self._frame.flush(zstandard.FLUSH_FRAME)
        self._file.seek(0)
        digest = hashlib.file_digest(self._file, "sha256").digest()
        self._file.write(digest)


@contextmanager
def written(path: Path, head: BackupHead) -> Iterator[BackupWriter]:
    """What writes a backup to a file that appears under its name when it is whole."""
    with whole_file(path) as file:
        writer = BackupWriter(file, head)
        yield writer
        writer.finish()


class BackupReader:
    """Reads a backup. Raises Damaged, before anything is read, where the file is not as it was written."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._file = path.open("rb")
        try:
            self.sha256 = self._require_whole()
            self._file.seek(len(FORM))
            self._frame = zstandard.ZstdDecompressor().stream_reader(self._file, closefd=False)
            self.head = BackupHead(**self._record())
        except BaseException:
            self._file.close()
            raise

    def __enter__(self) -> "BackupReader":
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()

    def tables(self) -> Iterator[tuple[RowTable, Iterator[Row]]]:
        """Each table with its rows, which are to be read before the next one; raises Damaged."""
        number = 0
        while "table" in (record := self._record()):
            facts = record["table"]
            table = RowTable(
                facts["name"], tuple(facts["columns"]), tuple(facts["kinds"]), tuple(facts["key"])
            )
            yield table, self._rows(table)
            number += 1
        if record != {"tables": number}:
            raise self._broken("it ends too soon")

    def _rows(self, table: RowTable) -> Iterator[Row]:
        counted = CountedRows(table, self._plain_rows(table))
        yield from counted
        if asdict(counted.count()) != self._end["count"]:
            raise self._broken(f"the table {table.name} does not have its digest")

    def _plain_rows(self, table: RowTable) -> Iterator[Row]:
        while isinstance(record := self._record(), list):
            yield tuple(
                self._read(value) if kind == "bytes" and value is not None else value
                for value, kind in zip(record, table.kinds, strict=True)
            )
        self._end = record

    def _record(self) -> Any:
        return json.loads(self._read(_LENGTH.unpack(self._read(_LENGTH.size))[0]))

    def _read(self, size: int) -> bytes:
        read = self._frame.read(size) if size else b""
        if len(read) != size:
            raise self._broken("it ends too soon")
        return read

    def _require_whole(self) -> str:
        size = os.fstat(self._file.fileno()).st_size - _DIGEST_BYTES
        if self._file.read(len(FORM)) != FORM:
            raise self._broken("it does not begin as one")
        digest = hashlib.sha256(FORM)
        for piece in _pieces(self._file, size - len(FORM)):
            digest.update(piece)
        if self._file.read() != digest.digest():
            raise self._broken("its digest does not match; it was cut short or changed")
        return digest.hexdigest()

    def _broken(self, why: str) -> Damaged:
        return Damaged(
            f"{self._path} is not a whole backup: {why}. Nothing was restored; take another backup.",
            what="backup",
            why=why,
        )


def _packed(record: object) -> bytes:
    text = json.dumps(record, ensure_ascii=False, separators=(",", ":")).encode()
    return _LENGTH.pack(len(text)) + text


def _pieces(file: IO[bytes], size: int) -> Iterator[bytes]:
    while size > 0 and (piece := file.read(min(size, PIECE))):
        size -= len(piece)
        yield piece
