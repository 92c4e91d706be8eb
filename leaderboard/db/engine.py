"""The base of all tables, the engine, and two kinds of session.

A reading session cannot write; a writing one commits once.
"""

import logging
import os
import sqlite3
import sys
import threading
import time
import zlib
from collections.abc import Iterator
from contextlib import closing, contextmanager, nullcontext
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import numpy.typing as npt
from sqlalchemy import (
    JSON,
    BigInteger,
    CheckConstraint,
    Connection,
    DateTime,
    Dialect,
    Engine,
    Integer,
    LargeBinary,
    MetaData,
    String,
    create_engine,
    event,
    func,
    insert,
    make_url,
    select,
    text,
)
from sqlalchemy.exc import ArgumentError, IntegrityError, NoSuchModuleError, OperationalError
from sqlalchemy.orm import DeclarativeBase, Mapped, Session, mapped_column
from sqlalchemy.schema import Table
from sqlalchemy.types import TypeDecorator, TypeEngine

from leaderboard.checksums import numbers, with_checksum
from leaderboard.errors import Invalid
from leaderboard.objects import ObjectStore

CONVENTION = {
    "ix": "ix_%(column_0_label)s",
    "uq": "uq_%(table_name)s_%(column_0_N_name)s",
    "ck": "ck_%(table_name)s_%(constraint_name)s",
    "fk": "fk_%(table_name)s_%(column_0_N_name)s",
    "pk": "pk_%(table_name)s",
}

BigId: TypeEngine[int] = BigInteger().with_variant(Integer(), "sqlite")
"""64-bit id; SQLite counts up only a column declared INTEGER, which is 64 bits wide there."""

Bytewise: TypeEngine[str] = String().with_variant(String(collation="C"), "postgresql")
"""Text compared byte by byte in both databases: docnos and topic ids."""


class UtcDateTime(TypeDecorator[datetime]):
    """A moment in UTC; naive datetimes are refused, SQLite gets them without zone."""

    impl = DateTime(timezone=True)
    cache_ok = True

    def process_bind_param(self, value: datetime | None, dialect: Dialect) -> datetime | None:
        """The value as the database keeps it."""
        if value is None:
            return None
        if value.tzinfo is None:
            raise ValueError("a moment without time zone was about to be stored")
        utc = value.astimezone(UTC)
        return utc.replace(tzinfo=None) if dialect.name == "sqlite" else utc

    def process_result_value(self, value: Any, dialect: Dialect) -> datetime | None:
        """The stored moment, with its zone."""
        if value is None:
            return None
        moment: datetime = value
        return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)


class FloatArray(TypeDecorator[npt.NDArray[np.float64]]):
    """A float64 vector as little-endian bytes and their checksum; damage is raised when it is read."""

    impl = LargeBinary
    cache_ok = True

    def process_bind_param(self, value: npt.NDArray[np.float64] | None, dialect: Dialect) -> bytes | None:
        """The vector's bytes and their checksum."""
        return None if value is None else with_checksum(np.asarray(value, dtype="<f8").tobytes())

    def process_result_value(self, value: Any, dialect: Dialect) -> npt.NDArray[np.float64] | None:
        """The vector, read-only; raises Damaged where its checksum does not match."""
        return None if value is None else np.frombuffer(numbers(value, "scores"), dtype="<f8")


SECRETS = frozenset(
    {
        *("password_hash", "token_sha256", "secret", "old_secret", "idempotency_key", "dedupe_key"),
        *("entry_code", "pseudonym_seed", "click_key"),
    }
)
"""Columns, of any table, that no page shows unless its own record says so."""


class Base(DeclarativeBase):
    """Base of all tables."""

    metadata = MetaData(naming_convention=CONVENTION)
    type_annotation_map = {  # noqa: RUF012 (read by SQLAlchemy)
        int: BigId,
        datetime: UtcDateTime,
        dict[str, Any]: JSON,
        list[str]: JSON,
        list[int]: JSON,
        list[dict[str, Any]]: JSON,
        bytes: LargeBinary,
    }


RAISE = text("UPDATE site_version SET number = number + 1")
RAISE_IF_WRITTEN = text(
    "UPDATE site_version SET number = number + 1 WHERE txid_current_if_assigned() IS NOT NULL"
)
COUNTED = "changes counted"
"""Of a connection to SQLite: how many rows it had changed when that was last checked."""


class SiteVersion(Base):
    """The one row: two readers who find the same number see the same site, except for the clock."""

    __tablename__ = "site_version"
    __table_args__ = (CheckConstraint("id = 1", name="one"),)

    id: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    number: Mapped[int]


@event.listens_for(SiteVersion.__table__, "after_create")
def _fill(table: Table, connection, **_: object) -> None:  # type: ignore[no-untyped-def]
    connection.execute(insert(table).values(id=1, number=0))


def present_version(engine: Engine) -> int | None:
    """The current version; None where the database has none, or does not answer.

    It is read before every page of a visitor, so by the driver: a session takes ten times as long.
    """
    try:
        with closing(engine.raw_connection()) as connection:
            cursor = connection.cursor()
            cursor.execute("SELECT number FROM site_version")
            row = cursor.fetchone()
            cursor.close()
    except engine.dialect.loaded_dbapi.Error:
        # Who makes the page then meets the same error, as every page does, and says what it means.
        return None
    return None if row is None else int(row[0])


def count_change(session: Session, is_shown: bool) -> None:
    """Raise the version where this transaction wrote what may be shown; the last thing before its commit.

    Who waits for the row waits for another's commit alone: nothing is locked after it.
    """
    session.flush()
    connection = session.connection()
    if connection.dialect.name != "sqlite":
        if is_shown:
            session.execute(RAISE_IF_WRITTEN)
        return
    driver = connection.connection.driver_connection
    assert driver is not None, "the connection is open"
    if is_shown and driver.total_changes != connection.info.get(COUNTED, 0):
        session.execute(RAISE)
    # Hidden data is counted here too, or the next transaction would appear to have written it.
    connection.info[COUNTED] = driver.total_changes


if sys.platform != "win32":
    import fcntl

log = logging.getLogger(__name__)

STATEMENTS = 150
"""Compiled statements that a process keeps: one takes some fifty kilobytes."""
POOL = 5
"""Connections a process keeps, unless the settings say otherwise."""
REPLICA_AGAIN_S = 10.0
"""Seconds that a replica that did not answer is left alone."""
LOCK_WAIT_S = 30
"""Seconds that a transaction waits for a lock of another one, unless the settings differ."""
LONGEST_LOG = 16 * 2**20
"""Bytes of SQLite's log of writes from which on it is emptied, see `Database.shorten_log`."""
CHECKPOINT_WAIT_S = 1.0
"""Seconds that readers may keep the log from being emptied, while no writer has its turn."""
FIRST_PAUSE_S, LONGEST_PAUSE_S = 0.001, 0.02
"""Pause between checks whether another process still writes; each pause is twice the one before."""
PRAGMAS = (
    "journal_mode=WAL",
    "synchronous=FULL",
    "foreign_keys=ON",
    f"journal_size_limit={64 * 2**20}",
    "trusted_schema=OFF",
)
POSTGRES_OPTIONS = "-c statement_timeout=60000 -c idle_in_transaction_session_timeout=120000"
POSTGRES_NETWORK = {
    "connect_timeout": 5,
    "keepalives_idle": 10,
    "keepalives_interval": 5,
    "keepalives_count": 3,
    "tcp_user_timeout": 30_000,
}
"""A server that vanished without a word is given up after half a minute; seconds, the last milliseconds."""


class Database:
    """One database: gives out reading and writing sessions.

    SQLite gets explicit transactions (BEGIN for reading, BEGIN IMMEDIATE for writing): with the driver's
    own implicit ones concurrent read-then-write transactions lose updates.
    Who waits for another's lock for longer than lock_wait_s gets an OperationalError.
    pool is how many connections to PostgreSQL a process keeps open; it opens up to twice as many.
    replica_url: a copy that follows the database, on PostgreSQL, from which visitors' pages are read.
    objects_url: an object store that may hold files in place of rows; its own class says more.
    Raises Invalid where a URL is not one SQLAlchemy can open, or is SQLite's next to a replica.
    """

    def __init__(
        self,
        url: str,
        lock_wait_s: float = LOCK_WAIT_S,
        *,
        pool: int = POOL,
        replica_url: str = "",
        objects_url: str = "",
    ) -> None:
        self.objects = ObjectStore(objects_url) if objects_url else None
        self.lock_wait_s = lock_wait_s
        self.engine = _opened(url, lock_wait_s, pool)
        self._reading = self.engine.execution_options(reading=True)
        self._replica = _opened(replica_url, lock_wait_s, pool) if replica_url else None
        self._replica_again = 0.0
        if self._replica is not None and "sqlite" in (self.engine.name, self._replica.name):
            raise Invalid("A replica follows a PostgreSQL server; SQLite has none. Leave its URL empty.")
        self._turns = _Turns(self.engine.url.database or "") if self.is_sqlite else None

    @property
    def is_sqlite(self) -> bool:
        """Whether this is SQLite."""
        return self.engine.dialect.name == "sqlite"

    @contextmanager
    def read(self) -> Iterator[Session]:
        """A session for reading; anything it tries to write raises AssertionError."""
        with _ReadingSession(self._reading, autoflush=False, expire_on_commit=False) as session:
            yield session

    @property
    def replica(self) -> Engine | None:
        """The replica of the database; None if absent, or if it did not answer a moment ago."""
        return self._replica if time.monotonic() >= self._replica_again else None

    def lose_replica(self, why: object) -> None:
        """Read the database itself for a while: each attempt to reach a dead machine takes seconds."""
        self._replica_again = time.monotonic() + REPLICA_AGAIN_S
        log.warning("the replica does not answer, the database is read instead: %s", why)

    @contextmanager
    def read_replica(self) -> Iterator[Session]:
        """A session for reading of the replica, as it was moments ago; of the database if none answers."""
        if self.replica is not None:
            with _ReadingSession(self.replica, autoflush=False, expire_on_commit=False) as session:
                try:
                    session.connection()
                except OperationalError as error:
                    self.lose_replica(error.orig)
                else:
                    yield session
                    return
        with self.read() as session:
            yield session

    @contextmanager
    def write(self, lock_wait_s: float | None = None, *, is_shown: bool = True) -> Iterator[Session]:
        """A session in one transaction: committed at the end, rolled back on any exception.

        lock_wait_s is how long locks are waited for this time; the database's own if None.
        is_shown: whether a page may show the written data. Where it may, kept pages are dropped.
        """
        wait_s = self.lock_wait_s if lock_wait_s is None else lock_wait_s
        with (
            self._turns.taken(wait_s) if self._turns else nullcontext(wait_s) as left_s,
            Session(self._patient(left_s), expire_on_commit=False) as session,
            session.begin(),
        ):
            if lock_wait_s is not None and not self.is_sqlite:
                session.execute(text(f"SET LOCAL lock_timeout = {_milliseconds(wait_s)}"))
            yield session
            count_change(session, is_shown)

    def _patient(self, wait_s: float) -> Engine:
        """The engine with the rest of a writer's timeout, which SQLite gets at each BEGIN."""
        is_told = not self.is_sqlite or wait_s == self.lock_wait_s
        return self.engine if is_told else self.engine.execution_options(lock_wait_s=wait_s)

    def forget_connections(self) -> None:
        """Leave all connections to the process that this one was forked from."""
        for engine in (self.engine, self._replica):
            if engine is not None:
                engine.dispose(close=False)

    def shorten_log(self, longest: int = LONGEST_LOG, wait_s: float = CHECKPOINT_WAIT_S) -> bool:
        """Truncate SQLite's write-ahead log if it is longer than `longest` bytes; whether it was truncated.

        SQLite restarts it only at a moment without readers, which a busy site never has.
        Writers have their turn after it. If they or readers block it, it is done later.
        """
        log_file = Path(f"{self.engine.url.database or ''}-wal")
        if self._turns is None or not log_file.is_file() or log_file.stat().st_size <= longest:
            return False
        try:
            with self._turns.taken(wait_s), self.engine.connect() as connection:
                driver: Any = connection.connection.driver_connection
                driver.execute(f"PRAGMA busy_timeout={_milliseconds(wait_s)}")
                try:
                    is_busy = driver.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()[0]
                finally:
                    driver.execute(f"PRAGMA busy_timeout={_milliseconds(self.lock_wait_s)}")
        except (OperationalError, sqlite3.OperationalError) as error:
            log.info("the log of writes was not shortened: %s", error)
            return False
        return not is_busy

    def dispose(self) -> None:
        """Close all connections."""
        self.engine.dispose()
        if self._replica is not None:
            self._replica.dispose()


class _Turns:
    """Turns for writing to a file of SQLite, which takes one writer at a time: threads and processes.

    Up to its version 3.51.2 SQLite may lose what one process commits in the moment in which another one
    copies the log of writes into the file (https://sqlite.org/wal.html#walresetbug). It does either within a
    commit, so no two processes commit at once here. Next to that, writers that wait for SQLite itself poll,
    with pauses in which no one writes; threads of a process need none.
    """

    def __init__(self, database: str) -> None:
        is_file = database not in ("", ":memory:") and not database.startswith("file:")
        self._file = Path(f"{database}-writer").absolute() if is_file else None
        self._threads = threading.Lock()

    @contextmanager
    def taken(self, wait_s: float) -> Iterator[float]:
        """Wait for the turn at most this long, and return the time left.

        Raises OperationalError, as SQLite does, where it does not come: another writer may be in its commit,
        and SQLite would not say so.
        """
        begun = time.monotonic()
        if not self._threads.acquire(timeout=wait_s):
            raise _locked()
        try:
            with self._alone(begun + wait_s):
                waited_s = time.monotonic() - begun
                yield wait_s if waited_s < FIRST_PAUSE_S else max(0.0, wait_s - waited_s)
        finally:
            self._threads.release()

    @contextmanager
    def _alone(self, until: float) -> Iterator[None]:
        """Hold the lock of a file, which ends with its process: a kill releases it."""
        if self._file is None or sys.platform == "win32":
            yield
            return
        try:
            lock = os.open(self._file, os.O_RDWR | os.O_CREAT, 0o600)
        except OSError as error:
            # A disk without space for an empty file has none for the write: SQLite says so.
            log.warning("writers of other processes are not waited for: %s", error)
            yield
            return
        try:
            _wait_for(lock, until)
            yield
        finally:
            os.close(lock)


def _wait_for(lock: int, until: float) -> None:
    pause_s = FIRST_PAUSE_S
    while True:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() >= until:
                raise _locked() from None
        except OSError as error:
            # A file system without such locks does not suit SQLite's write-ahead log either.
            log.warning("writers of other processes are not waited for: %s", error)
            return
        else:
            return
        time.sleep(pause_s)
        pause_s = min(2 * pause_s, LONGEST_PAUSE_S)


def _locked() -> OperationalError:
    return OperationalError("BEGIN IMMEDIATE", None, sqlite3.OperationalError("database is locked"))


_CLOCK_OF_POSTGRESQL = text("SELECT clock_timestamp()")


def now(session: Session) -> datetime:
    """The database's clock: the only one for leases, deadlines and stamps."""
    if session.get_bind().dialect.name == "sqlite":
        # SQLite reads this machine's clock, too; a writer has waited for its turn before it asks.
        session.connection()
        at = datetime.now(UTC)
        return at.replace(microsecond=at.microsecond // 1000 * 1000)
    moment: Any = session.scalar(_CLOCK_OF_POSTGRESQL)
    return moment.astimezone(UTC)  # type: ignore[no-any-return]


def lock_row(session: Session, table: type[Any], row_id: int) -> None:
    """Hold one row until the transaction ends, so that a count decided on it stays true.

    SQLite's BEGIN IMMEDIATE already holds the whole database.
    """
    if session.get_bind().dialect.name != "sqlite":
        session.get(table, row_id, with_for_update=True, populate_existing=True)


def lock_key(session: Session, key: str) -> None:
    """Hold a key until the transaction ends, where the row to count or find does not exist yet."""
    if session.get_bind().dialect.name == "postgresql":
        session.execute(select(func.pg_advisory_xact_lock(func.hashtext(key))))


def add_unless_taken(session: Session, row: Base) -> bool:
    """Insert a row; False, with nothing changed, where another has its name or key, even since a moment."""
    try:
        with session.begin_nested():
            session.add(row)
    except IntegrityError:
        return False
    return True


class _ReadingSession(Session):
    """A session whose kind listens for writes: to listen at each one takes as long as opening it does."""


@event.listens_for(_ReadingSession, "before_flush")
def _refuse_flush(session: Session, *_: object) -> None:
    raise AssertionError("a reading session was asked to write")


def _opened(url: str, lock_wait_s: float, pool: int) -> Engine:
    try:
        return _engine(url, lock_wait_s, pool)
    except (ArgumentError, NoSuchModuleError, ModuleNotFoundError) as error:
        raise Invalid(f"The database URL cannot be used: {error}.") from error


def _engine(url: str, lock_wait_s: float, pool: int) -> Engine:
    parsed = make_url(url)
    if parsed.get_backend_name() == "sqlite":
        return _sqlite_engine(url, lock_wait_s)
    if parsed.get_backend_name() == "postgresql" and parsed.get_driver_name() == "psycopg2":
        parsed = parsed.set(drivername="postgresql+psycopg")
    options = f"{POSTGRES_OPTIONS} -c lock_timeout={_milliseconds(lock_wait_s)}"
    return create_engine(
        parsed,
        pool_pre_ping=True,
        query_cache_size=STATEMENTS,
        pool_size=pool,
        max_overflow=pool,
        connect_args={"options": options, **POSTGRES_NETWORK},
    )


def _sqlite_engine(url: str, lock_wait_s: float) -> Engine:
    options: dict[str, Any] = {"isolation_level": None, "timeout": lock_wait_s}
    if hasattr(sqlite3, "LEGACY_TRANSACTION_CONTROL"):
        options["autocommit"] = sqlite3.LEGACY_TRANSACTION_CONTROL
    engine = create_engine(
        url, connect_args=options, execution_options={"lock_wait_s": lock_wait_s}, query_cache_size=STATEMENTS
    )
    event.listen(engine, "connect", _set_pragmas)
    event.listen(engine, "begin", _begin)
    return engine


def _set_pragmas(connection: sqlite3.Connection, _: object) -> None:
    cursor = connection.cursor()
    for pragma in PRAGMAS:
        cursor.execute(f"PRAGMA {pragma}")
    cursor.close()


def _begin(connection: Connection) -> None:
    options = connection.get_execution_options()
    if options.get("reading", False):
        connection.exec_driver_sql("BEGIN")
        return
    # A pooled connection keeps the timeout of its last writer.
    connection.exec_driver_sql(f"PRAGMA busy_timeout={_milliseconds(options['lock_wait_s'])}")
    connection.exec_driver_sql("BEGIN IMMEDIATE")


def _milliseconds(seconds: float) -> int:
    return max(1, round(seconds * 1000))


def unlimited(connection: Connection) -> None:
    """Disable the statement timeout for this transaction."""
    if connection.dialect.name == "postgresql":
        for limit in ("statement_timeout", "idle_in_transaction_session_timeout"):
            connection.execute(text(f"SET LOCAL {limit} = 0"))


_encoded = msgspec.msgpack.Encoder().encode


def of_row(values: tuple[object, ...]) -> int:
    """The CRC-32 of the plain values of a row, which both databases return as stored.

    >>> of_row((1, 0.0344)) == of_row((1, 0.05))
    False
    """
    return zlib.crc32(_encoded(values))
