"""Sessions: transactions that hold, readers that cannot write."""

import shutil
import sqlite3
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from sqlalchemy import select, text
from sqlalchemy.exc import IntegrityError

from leaderboard.db.engine import Database, lock_row, now
from leaderboard.db.tables import Account, Team, WebSession
from leaderboard.errors import Invalid

pytestmark = pytest.mark.dialect


def _team(name: str = "0") -> Team:
    return Team(name=name, canonical="counter", created_at=datetime.now(UTC))


def test_concurrent_read_then_write_loses_no_update(database: Database) -> None:
    """Twenty-four threads that each add one to what they read leave twenty-four."""
    with database.write() as session:
        session.add(_team())

    def add_one(_: int) -> None:
        with database.write() as session:
            team_id = session.scalar(select(Team.id))
            assert team_id is not None
            lock_row(session, Team, team_id)
            team = session.get_one(Team, team_id)
            team.name = str(int(team.name) + 1)

    with ThreadPoolExecutor(12) as pool:
        list(pool.map(add_one, range(24)))
    with database.read() as session:
        assert session.scalar(select(Team.name)) == "24"


def test_an_exception_rolls_everything_back(database: Database) -> None:
    """What was added before an exception is not there after it."""
    with pytest.raises(RuntimeError, match="stop"), database.write() as session:
        session.add(_team())
        session.flush()
        raise RuntimeError("stop")
    with database.read() as session:
        assert session.scalar(select(Team.id)) is None


def test_a_reading_session_refuses_to_write(database: Database) -> None:
    """Adding a row in a reading session is a bug of ours that shows at once."""
    with database.read() as session:
        session.add(_team())
        with pytest.raises(AssertionError, match="asked to write"):
            session.flush()


def test_foreign_keys_hold(database: Database) -> None:
    """A session of nobody cannot be stored, and an account's sessions go with it."""
    at = datetime.now(UTC)
    with pytest.raises(IntegrityError), database.write() as session:
        session.add(WebSession(token_sha256="x", account_id=99, created_at=at, seen_at=at))
    with database.write() as session:
        account = Account(name="a", canonical="a", created_at=at)
        session.add(account)
        session.flush()
        session.add(WebSession(token_sha256="x", account_id=account.id, created_at=at, seen_at=at))
        session.flush()
        session.delete(account)
        session.flush()
        session.expunge_all()
        assert session.scalar(select(WebSession.id)) is None


def test_moments_come_back_in_utc_and_naive_ones_are_refused(database: Database) -> None:
    """A stored moment is the same moment in UTC; one without zone never gets in."""
    east = datetime.fromisoformat("2026-03-01T12:00:00+09:00")
    with database.write() as session:
        session.add(Team(name="t", canonical="t", created_at=east))
    with database.read() as session:
        assert session.scalar(select(Team.created_at)) == east.astimezone(UTC)
        assert abs(now(session) - datetime.now(UTC)) < timedelta(minutes=1)
    with pytest.raises(Exception, match="without time zone"), database.write() as session:
        session.add(Team(name="u", canonical="u", created_at=datetime(2026, 3, 1)))


def test_sqlite_runs_with_the_settings_that_were_found_safe(sqlite_template, tmp_path) -> None:  # type: ignore[no-untyped-def]
    """Write-ahead log, full synchronisation and foreign keys are on for every connection."""
    database = Database(f"sqlite:///{tmp_path / 'a.sqlite3'}")
    with database.read() as session:
        found = {
            pragma: session.scalar(text(f"PRAGMA {pragma}"))
            for pragma in ("journal_mode", "synchronous", "foreign_keys", "busy_timeout", "trusted_schema")
        }
    database.dispose()
    assert found == {
        "journal_mode": "wal",
        "synchronous": 2,
        "foreign_keys": 1,
        "busy_timeout": 30000,
        "trusted_schema": 0,
    }


@pytest.mark.parametrize("url", ["nonsense", "mysql+nothing://x/y", "oracle://x"])
def test_a_url_that_cannot_be_opened_is_said_in_a_sentence(url: str) -> None:
    """A wrong database URL is a user's error, not a traceback."""
    with pytest.raises(Invalid, match="database URL cannot be used"):
        Database(url)


def test_a_writing_session_holds_sqlite_before_its_first_write(sqlite_template: Path, tmp_path: Path) -> None:
    """Another process cannot begin to write in between: what was read is still true when it is written."""
    path = shutil.copyfile(sqlite_template, tmp_path / "x.sqlite3")
    database = Database(f"sqlite:///{path}")
    with database.write() as session:
        session.execute(text("SELECT 1"))
        with (
            closing(sqlite3.connect(path, timeout=0, isolation_level=None)) as other,
            pytest.raises(sqlite3.OperationalError, match="locked"),
        ):
            other.execute("BEGIN IMMEDIATE")
    database.dispose()
