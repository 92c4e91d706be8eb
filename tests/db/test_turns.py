"""Threads of one process that write to SQLite take turns."""

import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from sqlalchemy import text

from leaderboard.db import engine
from leaderboard.db.engine import Database
from leaderboard.db.site_version import SiteVersion

pytestmark = pytest.mark.dialect


def _numbers(database: Database) -> list[int]:
    with database.read() as session:
        return list(session.scalars(text("SELECT number FROM t ORDER BY number")))


@pytest.fixture
def sqlite(tmp_path: Path) -> Database:
    """A database with one table and nothing in it, beside the number of its changes."""
    database = Database(f"sqlite:///{tmp_path / 'turns.sqlite3'}")
    with database.write(is_shown=False) as session:
        session.execute(text("CREATE TABLE t (number INTEGER)"))
        SiteVersion.metadata.create_all(session.connection(), [SiteVersion.__table__])  # type: ignore[list-item]
    return database


def test_many_threads_write_one_after_the_other(sqlite: Database) -> None:
    """Each reads the count and writes the next number: none is lost, none comes twice."""

    def work(_: int) -> None:
        with sqlite.write() as session:
            count = session.scalar(text("SELECT count(*) FROM t"))
            session.execute(text("INSERT INTO t VALUES (:number)"), {"number": count})

    with ThreadPoolExecutor(8) as threads:
        list(threads.map(work, range(80)))
    assert _numbers(sqlite) == list(range(80))
    sqlite.dispose()


def test_the_turn_is_given_back_after_an_error(sqlite: Database) -> None:
    """A transaction that failed keeps nobody waiting."""
    with pytest.raises(ZeroDivisionError), sqlite.write():
        raise ZeroDivisionError
    start = time.monotonic()
    with sqlite.write() as session:
        session.execute(text("INSERT INTO t VALUES (1)"))
    assert time.monotonic() - start < engine.LOCK_WAIT_S / 2
    assert _numbers(sqlite) == [1]
    sqlite.dispose()
