"""A site's database to one file while it runs, and back to an empty place."""

import os
import tempfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from sqlalchemy import Connection, inspect, make_url, select, text
from sqlalchemy.orm import Session

from leaderboard import __version__
from leaderboard.db import schema
from leaderboard.db.engine import Database, now
from leaderboard.db.tables import Audit
from leaderboard.errors import Conflict, Damaged, Invalid
from leaderboard.services import audit
from leaderboard.services.backups.archives import BackupHead, BackupReader, CountedRows, TableCount, written
from leaderboard.services.backups.rows import Row, RowTable, add_rows, rows_of, set_sequences, tables_of
from leaderboard.services.policy import OPERATOR

MADE = "backup.make"
"""What the record of acts calls a backup."""

Progress = Callable[[TableCount], object]
"""Is told of each table when it is done."""


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
    """Write all of the database, as it is at one moment, to a file, and note the act in the record of acts.

    The site may go on: what it stores meanwhile is not in the backup. With verify, the file is restored to a
    temporary place first and appears under its name only then. Raises OSError where there is no room.
    """
    unverified = path.with_name(f"{path.name}.unverified")
    try:
        counts = write(database, unverified, progress)
        made = _verified(unverified) if verify else _described(unverified, counts)
        os.replace(unverified, path)
    finally:
        unverified.unlink(missing_ok=True)
    with database.write() as session:
        audit.record(session, OPERATOR, MADE, "site", file=path.name, sha256=made.sha256, rows=made.rows)
    return Backup(path, made.schema, made.sha256, made.counts)


def write(database: Database, path: Path, progress: Progress = lambda _: None) -> tuple[TableCount, ...]:
    """Write all of the database, at whatever schema it is, to a file that is not tried."""
    at = datetime.now(UTC).isoformat(timespec="seconds")
    with one_moment(database) as connection:
        found = schema.current_on(connection) or ""
        head = BackupHead(found, __version__, at, connection.dialect.name)
        with written(path, head) as archive:
            counts = []
            for table in tables_of(connection):
                # Rows that are not read to their end, as the disk is full, are let go of before the database.
                with closing(rows_of(connection, table)) as rows:
                    counts.append(archive.add(table, rows))
                progress(counts[-1])
    return tuple(counts)


def restore(path: Path, url: str, *, progress: Progress = lambda _: None) -> Backup:
    """Make a site of a backup in an empty place, at the newest schema; nothing of it is left on failure.

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


def last_backup(session: Session) -> datetime | None:
    """When the newest backup was made, None where there is none; looks from the newest act back."""
    return session.scalar(select(Audit.at).where(Audit.action == MADE).order_by(Audit.id.desc()).limit(1))


def backup_age_s(session: Session) -> float | None:
    """How many seconds ago the newest backup was made, None where there is none."""
    at = last_backup(session)
    return None if at is None else max(0.0, (now(session) - at).total_seconds())


@contextmanager
def one_moment(database: Database) -> Iterator[Connection]:
    """A connection that reads the database as it is now, whatever is stored meanwhile."""
    with database.read() as session:
        if database.is_sqlite:
            yield session.connection()
            return
        connection = session.connection(execution_options={"isolation_level": "REPEATABLE READ"})
        unlimited(connection)
        yield connection


def unlimited(connection: Connection) -> None:
    """Let the statements of this transaction take the time they take."""
    if connection.dialect.name == "postgresql":
        for limit in ("statement_timeout", "idle_in_transaction_session_timeout"):
            connection.execute(text(f"SET LOCAL {limit} = 0"))


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
            raise Damaged(f"The table {table.name} reads back differently; nothing was stored.")
    return tuple(count for _, count in given)


def _verified(path: Path) -> Backup:
    """The backup restored to a temporary place beside it; raises Damaged where that does not come out."""
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
                raise Conflict("The database holds tables already: restore into an empty one.")
            schema.run_to(connection, archive.head.schema)
            counts = fill(connection, _known(archive, tables_of(connection)), progress)
            schema.run_to(connection, "head")
    finally:
        database.dispose()
    return Backup(path, archive.head.schema, archive.sha256, counts)


def _known(archive: BackupReader, tables: list[RowTable]) -> Iterator[tuple[RowTable, Iterator[Row]]]:
    """The backup's tables; raises Damaged for one that its schema does not have.

    Names become parts of statements: whoever made the file must not choose them.
    """
    columns = {table.name: frozenset(table.columns) for table in tables}
    for table, rows in archive.tables():
        if not {*table.columns, *table.key} <= columns.get(table.name, frozenset()):
            raise Damaged(
                f"The backup has a table {table.name[:60]!r} that its schema does not have: this program "
                "did not make it. Nothing was restored.",
                what="backup",
            )
        yield table, rows


def _empty_file(url: str) -> Path:
    """Where an SQLite database of the URL would be, if there is none, or one without tables."""
    name = make_url(url).database or ""
    if not name or name.startswith((":", "file:")):
        raise Invalid(f"{url!r} names no file: write sqlite:/// and the path of the file to make.")
    target = Path(name).resolve()
    if target.exists() and _has_tables(url):
        raise Conflict(f"{target} is there already: restore into an empty folder, or move that file away.")
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
