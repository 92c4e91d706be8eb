"""Commands about people: the audit log, a lost second factor, files for their owner only."""

import json
import os
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from sqlalchemy import update

from leaderboard.accounts.ops import accounts, second_factors, tokens
from leaderboard.cli import main
from leaderboard.db import schema
from leaderboard.db.engine import Database
from leaderboard.db.tables import Audit
from tests.make.people import second_factor


@pytest.fixture
def data(data_folder: Path) -> Path:
    """A data folder with an empty database."""
    return data_folder


def _run(data: Path, *arguments: str) -> Result:
    return CliRunner().invoke(main, [*arguments, "--data", str(data)])


def _database(data: Path) -> Database:
    return Database(f"sqlite:///{data / 'leaderboard.sqlite3'}")


def test_the_record_is_listed_and_filtered(data: Path) -> None:
    """By account (what it did and what was done to it), by action, by time; as text and as JSON lines."""
    for name in ("Ada", "Bert"):
        _run(data, "account", "create", name)
    lines = _run(data, "audit", "list").output.splitlines()
    assert [line.split("\t")[3:5] for line in lines] == [
        *([f"account.{verb}", "account:1"] for verb in ("create", "make_link")),
        *([f"account.{verb}", "account:2"] for verb in ("create", "make_link")),
    ]
    listed = _run(data, "audit", "list", "--account", "bert", "--format", "json").output
    first, second = map(json.loads, listed.splitlines())
    assert (first["action"], first["subject"]) == ("account.create", "account:2")
    assert (second["action"], second["subject"]) == ("account.make_link", "account:2")
    assert len(_run(data, "audit", "list", "--action", "account").output.splitlines()) == 4
    assert len(_run(data, "audit", "list", "--action", "account.create").output.splitlines()) == 2
    assert _run(data, "audit", "list", "--action", "acc").output == ""
    tomorrow = datetime.now(UTC) + timedelta(days=1)
    assert _run(data, "audit", "list", "--since", f"{tomorrow:%Y-%m-%d}").output == ""
    assert len(_run(data, "audit", "list", "--since", "2026-01-01").output.splitlines()) == 4
    assert "There is no account 'Carl'." in _run(data, "audit", "list", "--account", "Carl").stderr


def test_a_changed_record_is_found(data: Path) -> None:
    """`audit verify` counts the rows and names the first one that does not fit, with exit code 1."""
    for name in ("Ada", "Bert"):
        _run(data, "account", "create", name)
    good = _run(data, "audit", "verify")
    assert (good.exit_code, good.output.startswith("4 rows checked, no changes found")) == (0, True)
    database = _database(data)
    with database.write() as session:
        session.execute(update(Audit).where(Audit.id == 2).values(ip="192.0.2.1"))
    database.dispose()
    bad = _run(data, "audit", "verify")
    assert (bad.exit_code, "Row 2 does not follow" in bad.stderr) == (1, True)


def test_a_lost_second_factor_is_removed(data: Path) -> None:
    """The command turns it off; without one, or without an account, it says so."""
    _run(data, "account", "create", "Ada")
    database = _database(data)
    second_factor(database, 1)
    assert "was removed" in _run(data, "account", "remove-second-factor", "ada").output
    with database.read() as session:
        assert not second_factors.is_on(session, accounts.find(session, "Ada"))
    database.dispose()
    again = _run(data, "account", "remove-second-factor", "Ada")
    assert (again.exit_code, "has no second factor" in again.stderr) == (1, True)
    assert "There is no account" in _run(data, "account", "remove-second-factor", "Bob").stderr


@pytest.mark.trial
def test_an_upgrade_leaves_no_file_that_others_can_read(tmp_path: Path) -> None:
    """The database and its copy are closed to others, whatever the umask was; the umask is as before."""
    data = tmp_path / "data"
    data.mkdir(mode=0o700)
    before = os.umask(0o000)
    try:
        database = _database(data)
        schema.upgrade(database, "0004")
        database.dispose()
        (data / "leaderboard.sqlite3").chmod(0o666)
        assert "Copied the database" in _run(data, "db", "upgrade").output
        assert os.umask(0o000) == 0o000
    finally:
        os.umask(before)
    assert len(list(data.glob("*.before-upgrade"))) == 1
    assert [path.name for path in data.iterdir() if path.stat().st_mode & 0o077] == []


def test_a_database_elsewhere_is_closed_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A SQLite file that the URL names is closed; what lies beside it is not touched."""
    data, beside = tmp_path / "elsewhere.sqlite3", tmp_path / "beside.txt"
    monkeypatch.setenv("LEADERBOARD_DATABASE_URL", f"sqlite:///{data}")
    for path in (data, beside):
        path.write_bytes(b"")
        path.chmod(0o644)
    assert _run(tmp_path / "data", "db", "upgrade").exit_code == 0
    assert [path.stat().st_mode & 0o777 for path in (data, beside)] == [0o600, 0o644]


def test_tokens_are_made_listed_and_revoked(data: Path) -> None:
    """The secret is printed once; the list has its first characters; a closed account gets none."""
    _run(data, "account", "create", "Ada")
    made = _run(data, "account", "token", "make", "ada", "--label", "ci", "--scope", "read")
    secret = made.output.strip()
    assert tokens.is_whole(secret)
    listed = _run(data, "account", "token", "list", "Ada").output
    assert listed == f"1\t{secret[:8]}\tin force\tread\tci\n"
    assert _run(data, "account", "token", "make", "ada", "--label", "ci", "--days", "0").exit_code == 1
    assert _run(data, "account", "token", "revoke", "1").output == "Token 1 is revoked.\n"
    assert "revoked" in _run(data, "account", "token", "list", "Ada").output
    _run(data, "account", "close", "Ada")
    closed = _run(data, "account", "token", "make", "ada", "--label", "ci")
    assert (closed.exit_code, "closed" in closed.output) == (1, True)
