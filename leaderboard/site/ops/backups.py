"""Backups of a whole site: all tables as rows of one file, which either database writes and reads.

Tables and the kinds of their columns are read from the database, not from the code: a backup of an earlier
schema is restored by the same functions.

A record is the length of its JSON (uint32, little-endian), that JSON, and, of a row, the bytes of its binary
columns, whose lengths take their place in the row. First comes a record of the backup; then, for each
table, one of its columns, its rows, and one of their number and SHA-256; at last one of the number of tables.
"""

import hashlib
import json
import os
import struct
import tempfile
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from io import BufferedRandom
from itertools import islice
from pathlib import Path
from typing import IO, Any

import zstandard
from sqlalchemy import Connection, MetaData, Table, inspect, make_url, text, types

from leaderboard import __version__
from leaderboard.core import audit
from leaderboard.core.policy import OPERATOR
from leaderboard.db import schema
from leaderboard.db.engine import Database, unlimited
from leaderboard.db.tables import SiteVersion
from leaderboard.errors import Conflict, Damaged, Invalid
from leaderboard.temporary import whole_file

KINDS: tuple[tuple[type[types.TypeEngine[Any]], str], ...] = (
    (types.JSON, "json"),
    (types.Boolean, "truth"),
    (types.DateTime, "moment"),
    (types.LargeBinary, "bytes"),
    (types.Integer, "integer"),
    (types.Float, "real"),
    (types.String, "text"),
)
"""SQLAlchemy's type -> what its values are in a backup; moments are ISO texts in UTC, JSON is its text."""

Row = tuple[Any, ...]
LEFT_OUT = frozenset((schema.VERSION_TABLE, SiteVersion.__tablename__))
"""Tables that every database has filled by its own migrations, and counts in for itself."""


@dataclass(frozen=True, slots=True)
class RowTable:
    """A table: names and types of its columns, and those of its primary key, which orders the rows."""

    name: str
    columns: tuple[str, ...]
    kinds: tuple[str, ...]
    key: tuple[str, ...]

    @property
    def at_once(self) -> int:
        """Number of rows kept in memory: pieces of a file are up to a megabyte each."""
        return 16 if "bytes" in self.kinds else 500


def tables_of(connection: Connection) -> list[RowTable]:
    """All tables, those that others refer to first."""
    metadata = MetaData()
    metadata.reflect(connection)
    return [_shape(table) for table in metadata.sorted_tables if table.name not in LEFT_OUT]


def rows_of(connection: Connection, table: RowTable) -> Generator[Row]:
    """The rows of a table by its primary key, which both databases compare byte by byte."""
    postgres = connection.dialect.name == "postgresql"
    kinds = dict(zip(table.columns, table.kinds, strict=True))
    chosen = ", ".join(_selected(name, kinds[name], postgres) for name in table.columns)
    order = ", ".join(
        f'"{name}" COLLATE "C"' if postgres and kinds[name] == "text" else f'"{name}"' for name in table.key
    )
    streamed = connection.execution_options(stream_results=True, yield_per=table.at_once)
    with streamed.exec_driver_sql(f'SELECT {chosen} FROM "{table.name}" ORDER BY {order}') as rows:
        for row in rows:
            yield tuple(_shared(value, kind) for value, kind in zip(row, table.kinds, strict=True))


def add_rows(connection: Connection, table: RowTable, rows: Iterable[Row]) -> None:
    """Store rows unchanged; the caller's transaction holds them."""
    columns = ", ".join(f'"{name}"' for name in table.columns)
    if connection.dialect.name == "postgresql":
        _copy_in(connection, f'COPY "{table.name}" ({columns}) FROM STDIN', rows, table.kinds)
        return
    marks = ", ".join("?" for _ in table.columns)
    left = iter(rows)
    while some := list(islice(left, table.at_once)):
        stored = [tuple(map(_for_sqlite, row, table.kinds)) for row in some]
        connection.exec_driver_sql(f'INSERT INTO "{table.name}" ({columns}) VALUES ({marks})', stored)


def set_sequences(connection: Connection, tables: Sequence[RowTable]) -> None:
    """Make PostgreSQL number new rows after the stored ones; SQLite does so automatically."""
    if connection.dialect.name != "postgresql":
        return
    for table in tables:
        if table.key != ("id",):
            continue
        sequence = connection.scalar(text(f"SELECT pg_get_serial_sequence('\"{table.name}\"', 'id')"))
        last = connection.scalar(text(f'SELECT max(id) FROM "{table.name}"'))
        if sequence is not None and last is not None:
            connection.execute(text("SELECT setval(:sequence, :last)"), {"sequence": sequence, "last": last})


def _shape(table: Table) -> RowTable:
    kinds = tuple(
        next(kind for column_type, kind in KINDS if isinstance(column.type, column_type))
        for column in table.columns
    )
    names = tuple(column.name for column in table.columns)
    return RowTable(table.name, names, kinds, tuple(column.name for column in table.primary_key))


def _selected(name: str, kind: str, postgres: bool) -> str:
    return f'CAST("{name}" AS text)' if kind == "json" and postgres else f'"{name}"'


def _shared(value: Any, kind: str) -> Any:
    """A value from either driver as both write it."""
    if value is None:
        return None
    if kind == "moment":
        moment = datetime.fromisoformat(value) if isinstance(value, str) else value
        plain = moment.astimezone(UTC).replace(tzinfo=None) if moment.tzinfo else moment
        return plain.isoformat(timespec="microseconds")
    if kind == "truth":
        return bool(value)
    return bytes(value) if kind == "bytes" else value


def _for_sqlite(value: Any, kind: str) -> Any:
    """A value as SQLAlchemy keeps it in SQLite."""
    return value.replace("T", " ") if kind == "moment" and value is not None else value


def _copy_in(connection: Connection, statement: str, rows: Iterable[Row], kinds: Sequence[str]) -> None:
    moments = [place for place, kind in enumerate(kinds) if kind == "moment"]
    driver: Any = connection.connection.driver_connection
    with driver.cursor() as cursor, cursor.copy(statement) as copying:
        for row in rows:
            values = list(row)
            for place in moments:
                values[place] = values[place] and f"{values[place]}Z"
            copying.write_row(values)


FORM = b"leaderboard backup, form 1\n"
LEVEL = 3
PIECE = 2**20
_LENGTH = struct.Struct("<I")
_DIGEST_BYTES = hashlib.sha256().digest_size


@dataclass(frozen=True, slots=True)
class BackupHead:
    """Header of a backup: schema, program version, UTC time and type of database."""

    schema: str
    program: str
    made_at: str
    database: str


@dataclass(frozen=True, slots=True)
class TableCount:
    """Number of rows of a table, and the digest of all rows in order."""

    table: str
    rows: int
    sha256: str


class CountedRows:
    """Rows on their way through: their number and digest, once they all have passed."""

    def __init__(self, table: RowTable, rows: Iterable[Row]) -> None:
        self._table, self._rows, self._number = table, rows, 0
        self._digest = hashlib.sha256()

    def __iter__(self) -> Iterator[Row]:
        """The rows unchanged."""
        for row in self._rows:
            self._digest.update(packed_row(row))
            self._number += 1
            yield row

    def count(self) -> TableCount:
        """Counts up to now."""
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
    """A writer of a backup file, which appears under its name only when complete."""
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
            raise self._broken("it is incomplete")

    def _rows(self, table: RowTable) -> Iterator[Row]:
        counted = CountedRows(table, self._plain_rows(table))
        yield from counted
        if asdict(counted.count()) != self._end["count"]:
            raise self._broken(f"the table {table.name} does not match its digest")

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
            raise self._broken("it is incomplete")
        return read

    def _require_whole(self) -> str:
        size = os.fstat(self._file.fileno()).st_size - _DIGEST_BYTES
        if self._file.read(len(FORM)) != FORM:
            raise self._broken("it does not start like a backup")
        digest = hashlib.sha256(FORM)
        for piece in _pieces(self._file, size - len(FORM)):
            digest.update(piece)
        if self._file.read() != digest.digest():
            raise self._broken("its digest does not match, so it was truncated or changed")
        return digest.hexdigest()

    def _broken(self, why: str) -> Damaged:
        return Damaged(
            f"{self._path} is not a valid backup: {why}. Nothing was restored; use another backup.",
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


Progress = Callable[[TableCount], object]
"""Called with each table when it is done."""


@dataclass(frozen=True, slots=True)
class Backup:
    """A backup that was written or restored: its schema, digest, and what it has of each table."""

    path: Path
    schema: str
    sha256: str
    counts: tuple[TableCount, ...]

    @property
    def rows(self) -> int:
        """Rows of all tables."""
        return sum(count.rows for count in self.counts)


def back_up(
    database: Database, path: Path, *, verify: bool = True, progress: Progress = lambda _: None
) -> Backup:
    """Write a snapshot of the whole database to a file, and note the act in the audit log.

    The site may go on: what it stores during the backup is not in it. With verify, the file is restored to a
    temporary place first and appears under its name only then. Raises OSError without disk space.
    """
    unverified = path.with_name(f"{path.name}.unverified")
    try:
        counts = write(database, unverified, progress)
        backup = _verified(unverified) if verify else _described(unverified, counts)
        os.replace(unverified, path)
    finally:
        unverified.unlink(missing_ok=True)
    with database.write() as session:
        audit.record(
            session, OPERATOR, audit.BACKUP, "site", file=path.name, sha256=backup.sha256, rows=backup.rows
        )
    return Backup(path, backup.schema, backup.sha256, backup.counts)


def write(database: Database, path: Path, progress: Progress = lambda _: None) -> tuple[TableCount, ...]:
    """Write the whole database, with any schema version, to a file that is not verified."""
    at = datetime.now(UTC).isoformat(timespec="seconds")
    with one_moment(database) as connection:
        version = schema.current_on(connection) or ""
        head = BackupHead(version, __version__, at, connection.dialect.name)
        with written(path, head) as archive:
            counts = []
            for table in tables_of(connection):
                # Rows not read to their end, because the disk is full, are released before the database.
                with closing(rows_of(connection, table)) as rows:
                    counts.append(archive.add(table, rows))
                progress(counts[-1])
    return tuple(counts)


def restore(path: Path, url: str, *, progress: Progress = lambda _: None) -> Backup:
    """Make a site of a backup in an empty place, at the newest schema; nothing remains on failure.

    Raises Damaged for a file that is not as it was written, Conflict where the place holds anything.
    """
    with BackupReader(path) as archive:
        schema.require_known(archive.head.schema)
        if make_url(url).get_backend_name() != "sqlite":
            return _restore_into(archive, path, url, progress)
        target = _empty_file(url)
        part = target.with_name(f"{target.name}.part")
        try:
            _remove(part)
            os.close(os.open(part, os.O_CREAT | os.O_EXCL, 0o600))
            restored = _restore_into(archive, path, f"sqlite:///{part}", progress)
            os.replace(part, target)
        finally:
            _remove(part)
    return restored


@contextmanager
def one_moment(database: Database) -> Iterator[Connection]:
    """A connection that reads a snapshot of the database."""
    with database.read() as session:
        if database.is_sqlite:
            yield session.connection()
            return
        connection = session.connection(execution_options={"isolation_level": "REPEATABLE READ"})
        unlimited(connection)
        yield connection


def fill(
    connection: Connection, tables: Iterable[tuple[RowTable, Iterable[Row]]], progress: Progress
) -> tuple[TableCount, ...]:
    """Store the rows of all tables, then read them back; raises Damaged where they came out different."""
    unlimited(connection)
    given: list[tuple[RowTable, TableCount]] = []
    for table, rows in tables:
        counted = CountedRows(table, rows)
        add_rows(connection, table, counted)
        given.append((table, counted.count()))
        progress(counted.count())
    set_sequences(connection, [table for table, _ in given])
    for table, count in given:
        stored = CountedRows(table, rows_of(connection, table))
        for _ in stored:
            pass
        if stored.count() != count:
            raise Damaged(f"The table {table.name} differs when read back. Nothing was stored.")
    return tuple(count for _, count in given)


def _verified(path: Path) -> Backup:
    """The backup restored to a temporary place next to it; raises Damaged where that does not come out."""
    with tempfile.TemporaryDirectory(dir=path.parent, prefix=".verifying-") as folder:
        return restore(path, f"sqlite:///{Path(folder) / 'restored.sqlite3'}")


def _described(path: Path, counts: tuple[TableCount, ...]) -> Backup:
    with BackupReader(path) as archive:
        return Backup(path, archive.head.schema, archive.sha256, counts)


def _restore_into(archive: BackupReader, path: Path, url: str, progress: Progress) -> Backup:
    database = Database(url)
    try:
        with schema.alone(database) as connection:
            if inspect(connection).get_table_names():
                raise Conflict("The database already has tables. Restore into an empty database.")
            schema.run_to(connection, archive.head.schema)
            counts = fill(connection, _known(archive, tables_of(connection)), progress)
            schema.run_to(connection, "head")
    finally:
        database.dispose()
    return Backup(path, archive.head.schema, archive.sha256, counts)


def _known(archive: BackupReader, tables: list[RowTable]) -> Iterator[tuple[RowTable, Iterator[Row]]]:
    """The backup's tables; raises Damaged for one that its schema does not have.

    Names become parts of statements: anyone who made the file must not choose them.
    """
    columns = {table.name: frozenset(table.columns) for table in tables}
    for table, rows in archive.tables():
        if not {*table.columns, *table.key} <= columns.get(table.name, frozenset()):
            raise Damaged(
                f"The backup has a table {table.name[:60]!r} that is not in its schema: it was not made by "
                "this program. Nothing was restored.",
                what="backup",
            )
        yield table, rows


def _empty_file(url: str) -> Path:
    """Path for an SQLite database of the URL, which must be missing or without tables."""
    name = make_url(url).database or ""
    if not name or name.startswith((":", "file:")):
        raise Invalid(f"{url!r} does not name a file. Use sqlite:/// and the path of the file to create.")
    target = Path(name).resolve()
    if target.exists() and _has_tables(url):
        raise Conflict(f"{target} already exists. Restore into an empty folder, or move this file away.")
    return target


def _has_tables(url: str) -> bool:
    database = Database(url)
    try:
        return bool(inspect(database.engine).get_table_names())
    finally:
        database.dispose()


def _remove(path: Path) -> None:
    for ending in ("", "-wal", "-shm", "-journal", "-writer"):
        path.with_name(path.name + ending).unlink(missing_ok=True)


def copy(
    source: Database, target: Database, *, progress: Progress = lambda _: None
) -> tuple[TableCount, ...]:
    """Copy every row in one transaction, and compare numbers and digests of rows before it ends.

    Both are at the newest schema and the target is empty: raises SchemaOutdated and Conflict otherwise.
    """
    schema.require_head(source)
    schema.require_head(target)
    with one_moment(source) as reading, schema.alone(target) as writing:
        tables = tables_of(reading)
        _require_empty(writing, tables)
        return fill(writing, ((table, rows_of(reading, table)) for table in tables), progress)


def _require_empty(connection: Connection, tables: list[RowTable]) -> None:
    for table in tables:
        if connection.scalar(text(f'SELECT 1 FROM "{table.name}" LIMIT 1')) is not None:
            raise Conflict(
                f"The table {table.name} of the target already has rows. Copy into an empty database "
                "created by `leaderboard db upgrade`."
            )
