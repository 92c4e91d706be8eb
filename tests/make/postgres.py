"""A PostgreSQL server of the test session's own, where the binaries are found."""

import os
import pwd
import shutil
import socket
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from typing import Any

import psycopg

from leaderboard.db import schema
from leaderboard.db.engine import Database
from leaderboard.db.tables import SiteVersion, metadata
from tests.make import warm

FOLDERS = ["/usr/lib/postgresql", "/usr/local/pgsql", "/opt/homebrew/opt"]
TEMPLATE, TESTED = "empty", "tested"
"""The migrated database that is never written to, and its copy that the tests of this process share."""
FAST = "-c fsync=off -c synchronous_commit=off -c full_page_writes=off -c autovacuum=off"
"""Nothing in a server of tests outlives it, and no plan depends on whether its minute of statistics came."""


def binaries() -> Path | None:
    """The folder of initdb and pg_ctl, None where PostgreSQL is not installed."""
    for root in FOLDERS:
        found = sorted(Path(root).glob("*/bin/initdb")) if Path(root).is_dir() else []
        if found:
            return found[-1].parent
    found_on_path = shutil.which("initdb")
    return Path(found_on_path).parent if found_on_path else None


@dataclass(frozen=True)
class Server:
    """A server in a folder of its own that can be stopped and started again."""

    url: str
    """Without a database's name."""
    control: Callable[..., None]

    def stop(self) -> None:
        """End it at once, as a crash does."""
        self.control("-m", "immediate", "stop")

    def start(self) -> None:
        """Start it and wait until it answers."""
        self.control("-w", "-l", "log", "start")


@contextmanager
def server() -> Iterator[str]:
    """A running server's URL without database name."""
    with own_server(FAST) as running:
        yield running.url


@contextmanager
def own_server(options: str = "", like: Server | None = None) -> Iterator[Server]:
    """A running server of one's own; it refuses to run as root, so root steps down.

    like: another server, which this one then follows as a standby.
    """
    folder = binaries()
    assert folder is not None
    home = Path(tempfile.mkdtemp(prefix="leaderboard-pg-"))
    user = _plain_user(home)
    port = _free_port()
    options += f" -p {port} -c listen_addresses=127.0.0.1 -c unix_socket_directories={home}"

    def run(program: str, *arguments: str) -> None:
        command = (str(folder / program), "-D", str(home / "data"), *arguments)
        # Not pipes: the server would keep them open.
        with (home / "said").open("wb") as said:
            subprocess.run(command, check=True, stdout=said, stderr=said, user=user, cwd=home)

    if like is None:
        run("initdb", "-U", "tester", "-A", "trust", "-E", "UTF8", "--no-sync")
    else:
        # Settings for following and the connection to follow over are written into the copy.
        run("pg_basebackup", "-R", "-X", "stream", "-c", "fast", "-d", like.url.replace("+psycopg", ""))
    made = Server(f"postgresql+psycopg://tester@127.0.0.1:{port}", partial(run, "pg_ctl", "-o", options))
    made.start()
    try:
        yield made
    finally:
        made.stop()
        shutil.rmtree(home, ignore_errors=True)


def _plain_user(home: Path) -> int | None:
    if os.geteuid() != 0:
        return None
    for name in ("postgres", "nobody"):
        try:
            entry = pwd.getpwnam(name)
        except KeyError:
            continue
        os.chown(home, entry.pw_uid, entry.pw_gid)
        return entry.pw_uid
    raise RuntimeError("no unprivileged user to run PostgreSQL as")


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def make_template(url: str) -> None:
    """Make the migrated database on a new server, given by its URL without database name."""
    with _connected(url, "postgres") as connection:
        connection.execute(f"CREATE DATABASE {TEMPLATE}")
    database = Database(f"{url}/{TEMPLATE}")
    schema.upgrade(database)
    database.dispose()


def clear(url: str) -> str:
    """The URL of the server's one database of tests, emptied and at the newest schema."""
    try:
        connection = _cleaner(url)
        if _migration(connection) == _migration_of_template(url):
            # A killed process may have left a transaction open, whose rows would be waited for.
            others = ", ".join(["pg_backend_pid()", *map(str, warm.processes())])
            connection.execute(_ENDING_OTHERS.format(f"pid NOT IN ({others}) AND", TESTED))
            _empty(connection)
            return f"{url}/{TESTED}"
    except psycopg.OperationalError:
        # It is the first test of the process, or the one before threw the database away.
        pass
    close_cleaner()
    copy(f"{url}/{TESTED}", TEMPLATE, TESTED)
    return f"{url}/{TESTED}"


_cleaners: dict[tuple[int, str], "psycopg.Connection[Any]"] = {}


def _cleaner(url: str) -> "psycopg.Connection[Any]":
    """This process's connection that empties the tests' database: one that has met all tables is fast."""
    key = os.getpid(), url
    if key not in _cleaners:
        place = url.replace("postgresql+psycopg://", "postgresql://")
        _cleaners[key] = psycopg.connect(f"{place}/{TESTED}", autocommit=True)
    return _cleaners[key]


def close_cleaner() -> None:
    """Close what empties the tests' database."""
    while _cleaners:
        _cleaners.popitem()[1].close()


_ENDING_OTHERS = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE {} datname = '{}'"


@contextmanager
def _connected(url: str, name: str) -> Iterator["psycopg.Connection[Any]"]:
    """A connection without transactions, closed at the end: nobody may be connected to a template."""
    place = url.replace("postgresql+psycopg://", "postgresql://")
    with psycopg.connect(f"{place}/{name}", autocommit=True) as connection:
        yield connection


def _migration(connection: "psycopg.Connection[Any]") -> str:
    """The schema's version and the transaction that wrote it: a test that migrates leaves another one."""
    asked = connection.execute("SELECT concat(version_num, ' ', xmin) FROM alembic_version")
    return str(asked.fetchone())


@cache
def _migration_of_template(url: str) -> str:
    with _connected(url, TEMPLATE) as connection:
        return _migration(connection)


def copy(url: str, name: str, other: str) -> None:
    """Make a database the copy of another one on the server of a URL; nobody may be connected to either."""
    with _connected(url.rsplit("/", 1)[0], "postgres") as connection:
        connection.execute(_ENDING_OTHERS.format("", name))
        connection.execute(f"DROP DATABASE IF EXISTS {other} WITH (FORCE)")
        connection.execute(f"CREATE DATABASE {other} TEMPLATE {name}")


def _empty(connection: "psycopg.Connection[Any]") -> None:
    """Empty all tables and begin their sequences anew.

    TRUNCATE makes new files, which takes ten times as long as DELETE takes for the rows of a test; it is for
    tables that would grow on the disk from test to test.
    """
    large = "SELECT relname FROM pg_class WHERE relkind = 'r' AND pg_total_relation_size(oid) > 1000000"
    grown = {name for (name,) in connection.execute(large)} & set(metadata.tables)
    statements = [
        *([f"TRUNCATE {', '.join(sorted(grown))} CASCADE"] if grown else []),
        # Tables refer to one another: in which order they are emptied is nobody's business here.
        "SET LOCAL session_replication_role = replica",
        # The number of changes goes on: a page kept of the test before would pass for one of the next.
        *(f"DELETE FROM {table}" for table in metadata.tables if table != SiteVersion.__tablename__),
        "SELECT setval(seqrelid, seqstart, false) FROM pg_sequence",
    ]
    connection.execute(f"BEGIN; {'; '.join(statements)}; COMMIT")


@contextmanager
def fresh(url: str, *, migrated: bool = False) -> Iterator[str]:
    """The URL of another database on the server of a URL: without tables, or with empty ones."""
    base, name = url.rsplit("/", 1)[0], "another"
    with _connected(base, "postgres") as connection:
        connection.execute(f"DROP DATABASE IF EXISTS {name} WITH (FORCE)")
        template = f" TEMPLATE {TEMPLATE}" if migrated else ""
        connection.execute(f"CREATE DATABASE {name}{template}")
    try:
        yield f"{base}/{name}"
    finally:
        with _connected(base, "postgres") as connection:
            connection.execute(f"DROP DATABASE {name} WITH (FORCE)")
