"""The engine and the two kinds of session: reading, which cannot write, and writing, which commits once."""

import sqlite3
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import Any

from sqlalchemy import Connection, Engine, create_engine, event, make_url, text
from sqlalchemy.exc import ArgumentError, NoSuchModuleError
from sqlalchemy.orm import Session

from leaderboard.errors import Invalid

BUSY_MS = 30_000
PRAGMAS = (
    "journal_mode=WAL",
    "synchronous=FULL",
    "foreign_keys=ON",
    f"busy_timeout={BUSY_MS}",
    f"journal_size_limit={64 * 2**20}",
    "trusted_schema=OFF",
)
POSTGRES_OPTIONS = (
    "-c statement_timeout=60000 -c lock_timeout=15000 -c idle_in_transaction_session_timeout=120000"
)


class Database:
    """One database: gives out reading and writing sessions.

    SQLite gets explicit transactions (BEGIN for reading, BEGIN IMMEDIATE for writing): with the driver's
    own implicit ones concurrent read-then-write transactions lose updates.
    Raises Invalid where the URL is not one SQLAlchemy can open.
    """

    def __init__(self, url: str) -> None:
        try:
            self.engine = _engine(url)
        except (ArgumentError, NoSuchModuleError, ModuleNotFoundError) as error:
            raise Invalid(f"The database URL cannot be used: {error}.") from error
        self._reading = self.engine.execution_options(reading=True)
        self._turn = threading.Lock()

    @property
    def is_sqlite(self) -> bool:
        """Whether this is SQLite."""
        return self.engine.dialect.name == "sqlite"

    @contextmanager
    def read(self) -> Iterator[Session]:
        """A session for reading; anything it tries to write raises AssertionError."""
        with Session(self._reading, autoflush=False, expire_on_commit=False) as session:
            event.listen(session, "before_flush", _refuse_flush)
            yield session

    @contextmanager
    def write(self) -> Iterator[Session]:
        """A session in one transaction: committed at the end, rolled back on any exception."""
        with self._one_writer(), Session(self.engine, expire_on_commit=False) as session, session.begin():
            yield session

    @contextmanager
    def _one_writer(self) -> Iterator[None]:
        """The turn of this thread to write to SQLite, which takes one writer at a time.

        Writers of other processes are waited for by looking again and again, with pauses in which nobody
        writes; threads of this one wait here. Who waits too long goes on to SQLite's own answer.
        """
        held = self.is_sqlite and self._turn.acquire(timeout=BUSY_MS / 1000)
        try:
            yield
        finally:
            if held:
                self._turn.release()

    def dispose(self) -> None:
        """Close all connections."""
        self.engine.dispose()


def now(session: Session) -> datetime:
    """The database's clock: the only one that leases, deadlines and stamps are told by."""
    bind = session.get_bind()
    if bind.dialect.name == "sqlite":
        stamp = session.scalar(text("SELECT strftime('%Y-%m-%dT%H:%M:%f', 'now')"))
        return datetime.fromisoformat(str(stamp)).replace(tzinfo=UTC)
    moment: Any = session.scalar(text("SELECT clock_timestamp()"))
    return moment.astimezone(UTC)  # type: ignore[no-any-return]


def lock_row(session: Session, table: type[Any], row_id: int) -> None:
    """Hold one row until the transaction ends, so that a count decided on it stays true.

    SQLite's BEGIN IMMEDIATE already holds the whole database.
    """
    if session.get_bind().dialect.name != "sqlite":
        session.get(table, row_id, with_for_update=True, populate_existing=True)


def _refuse_flush(session: Session, *_: object) -> None:
    raise AssertionError("a reading session was asked to write")


def _engine(url: str) -> Engine:
    parsed = make_url(url)
    if parsed.get_backend_name() == "sqlite":
        return _sqlite_engine(url)
    if parsed.get_backend_name() == "postgresql" and parsed.get_driver_name() == "psycopg2":
        parsed = parsed.set(drivername="postgresql+psycopg")
    return create_engine(parsed, pool_pre_ping=True, connect_args={"options": POSTGRES_OPTIONS})


def _sqlite_engine(url: str) -> Engine:
    options: dict[str, Any] = {"isolation_level": None, "timeout": BUSY_MS / 1000}
    if hasattr(sqlite3, "LEGACY_TRANSACTION_CONTROL"):
        options["autocommit"] = sqlite3.LEGACY_TRANSACTION_CONTROL
    engine = create_engine(url, connect_args=options)
    event.listen(engine, "connect", _set_pragmas)
    event.listen(engine, "begin", _begin)
    return engine


def _set_pragmas(connection: sqlite3.Connection, _: object) -> None:
    cursor = connection.cursor()
    for pragma in PRAGMAS:
        cursor.execute(f"PRAGMA {pragma}")
    cursor.close()


def _begin(connection: Connection) -> None:
    reading = connection.get_execution_options().get("reading", False)
    connection.exec_driver_sql("BEGIN" if reading else "BEGIN IMMEDIATE")
