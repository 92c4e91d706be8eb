"""Threads and processes that write to SQLite take turns."""

import fcntl
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from sqlalchemy import text
from sqlalchemy.exc import OperationalError

from leaderboard.db import engine
from leaderboard.db.engine import Database, SiteVersion

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


@pytest.mark.trial
def test_processes_write_one_after_the_other(sqlite: Database, tmp_path: Path) -> None:
    """Who writes is alone to the end of its commit, in which the log of writes may go into the file."""
    file = tmp_path / "turns.sqlite3-writer"
    with sqlite.write() as session:
        session.execute(text("INSERT INTO t VALUES (0)"))
        assert _is_held(file)
    assert not _is_held(file)
    assert file.stat().st_mode & 0o077 == 0
    script = (
        "import sys; from sqlalchemy import text; from leaderboard.db.engine import Database\n"
        "database = Database(sys.argv[1])\n"
        "for _ in range(40):\n"
        "    with database.write() as session:\n"
        "        count = session.scalar(text('SELECT count(*) FROM t'))\n"
        "        session.execute(text('INSERT INTO t VALUES (:number)'), {'number': count})\n"
    )
    url = sqlite.engine.url.render_as_string(False)
    writers = [subprocess.Popen([sys.executable, "-c", script, url]) for _ in range(2)]
    assert [writer.wait() for writer in writers] == [0, 0]
    assert _numbers(sqlite) == list(range(81))
    sqlite.dispose()


def test_who_waits_in_vain_has_the_answer_of_sqlite(sqlite: Database, tmp_path: Path) -> None:
    """Also where the file itself is free, as it is while another one copies the log of writes into it."""
    other = Database(sqlite.engine.url.render_as_string(False), lock_wait_s=0.2)
    with sqlite.write() as session:
        session.execute(text("INSERT INTO t VALUES (1)"))
        with pytest.raises(OperationalError, match="database is locked"), other.write() as second:
            second.execute(text("INSERT INTO t VALUES (2)"))
        with pytest.raises(OperationalError, match="database is locked"), sqlite.write(0.1) as second:
            second.execute(text("INSERT INTO t VALUES (2)"))
    with (tmp_path / "turns.sqlite3-writer").open() as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        with pytest.raises(OperationalError, match="database is locked"), other.write() as second:
            second.execute(text("INSERT INTO t VALUES (2)"))
    assert _numbers(sqlite) == [1]
    with other.write() as session:
        session.execute(text("INSERT INTO t VALUES (3)"))
    assert _numbers(sqlite) == [1, 3]
    other.dispose()
    sqlite.dispose()


def _is_held(file: Path) -> bool:
    with file.open() as other:
        try:
            fcntl.flock(other, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
        return False


def test_the_log_of_writes_is_emptied_where_it_is_long(sqlite: Database) -> None:
    """Neither a short one nor one that somebody reads; a writer waits for it no longer than its turn."""
    log = Path(f"{sqlite.engine.url.database}-wal")
    with sqlite.read() as session:
        session.execute(text("SELECT 1 FROM t")).all()
        with sqlite.write() as writing:
            writing.execute(text("INSERT INTO t VALUES (1)"))
        assert not sqlite.shorten_log()
        assert not sqlite.shorten_log(0, 0.01)
        assert log.stat().st_size > 0
    with sqlite.write():
        assert not sqlite.shorten_log(0, 0.01)
    assert sqlite.shorten_log(0)
    assert log.stat().st_size == 0
    with sqlite.write() as writing:
        writing.execute(text("INSERT INTO t VALUES (2)"))
    assert _numbers(sqlite) == [1, 2]
    sqlite.dispose()
