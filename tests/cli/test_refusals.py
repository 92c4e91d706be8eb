"""What the database or the disk refuses is one sentence with a remedy, and leaves nothing half made."""

import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from leaderboard.cli import main
from leaderboard.db import schema
from leaderboard.db.engine import Database
from leaderboard.errors import Damaged
from leaderboard.settings import DATABASE_FILE
from leaderboard.site.cli import db
from tests.make import released

FULL = """
import resource, signal, sys
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (65536, 65536))
from leaderboard.cli import main
main()
"""
"""The command where no file may be longer than 64 KB."""


@pytest.fixture
def old_site(tmp_path: Path) -> Path:
    """The data folder of a site at schema 0004."""
    folder = tmp_path / "data"
    folder.mkdir(mode=0o700)
    database = Database(f"sqlite:///{folder / DATABASE_FILE}")
    released.put("0004", database)
    database.dispose()
    return folder


def _copies(folder: Path) -> list[Path]:
    return sorted(folder.glob(f"{DATABASE_FILE}.*upgrade*"))


def _said(output: str) -> str:
    """The one line that an error is."""
    (line,) = [line for line in output.splitlines() if line.startswith("Error")]
    assert "Traceback" not in output
    return line


@pytest.mark.trial
@pytest.mark.parametrize("by_url", [False, True])
def test_an_upgrade_copies_the_database_first(
    by_url: bool, old_site: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also one that is named by a URL; the copy is the schema before, and only its owner reads it."""
    if by_url:
        monkeypatch.setenv("LEADERBOARD_DATABASE_URL", f"sqlite:///{old_site / DATABASE_FILE}")
    done = CliRunner().invoke(main, ["db", "upgrade", *([] if by_url else ["--data", str(old_site)])])
    assert done.exit_code == 0, done.output
    (copy,) = _copies(old_site)
    assert str(copy) in done.output
    assert copy.stat().st_mode & 0o777 == 0o600
    database = Database(f"sqlite:///{copy}")
    assert schema.current(database) == "0004"
    database.dispose()


@pytest.mark.trial
def test_an_upgrade_without_room_leaves_nothing(old_site: Path) -> None:
    """No half a copy that looks like a backup, the database as it was, one sentence."""
    command = [sys.executable, "-c", FULL, "db", "upgrade", "--data", str(old_site)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "run the command again" in _said(done.stderr)
    assert _copies(old_site) == []
    database = Database(f"sqlite:///{old_site / DATABASE_FILE}")
    assert schema.current(database) == "0004"
    database.dispose()


def test_a_copy_that_is_not_sound_is_no_copy(old_site: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The copy is checked before it has its name; nothing is upgraded without one."""

    def unsound(path: Path) -> None:
        raise Damaged(f"{path} is damaged.")

    monkeypatch.setattr(db, "require_sound", unsound)
    refused = CliRunner().invoke(main, ["db", "upgrade", "--data", str(old_site)])
    assert refused.exit_code == 1
    assert _copies(old_site) == []


def test_damaged_pages_are_found_in_a_copy(old_site: Path) -> None:
    """The check of a copy is SQLite's own, of every page and index."""
    path = old_site / DATABASE_FILE
    db.require_sound(path)
    body = bytearray(path.read_bytes())
    # The last page: of a table or an index, wherever SQLite put it.
    body[-4096:] = bytes(4096)
    path.write_bytes(bytes(body))
    with pytest.raises(Damaged, match="is damaged"):
        db.require_sound(path)


def test_a_file_that_is_no_database_is_a_sentence(old_site: Path) -> None:
    """Any command says what is wrong and what to do."""
    (old_site / DATABASE_FILE).write_bytes(b"no database at all" * 1000)
    refused = CliRunner().invoke(main, ["task", "list", "--data", str(old_site)])
    assert refused.exit_code == 1
    assert "not a database" in _said(refused.output)
    assert "leaderboard restore" in refused.output


def test_a_database_that_cannot_be_written_is_a_sentence(
    old_site: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A file or folder that is for reading only."""
    url = f"sqlite:///file:{old_site / DATABASE_FILE}?mode=ro&uri=true"
    monkeypatch.setenv("LEADERBOARD_DATABASE_URL", url)
    refused = CliRunner().invoke(main, ["db", "upgrade"])
    assert refused.exit_code == 1
    assert "Check its owner, mode and mount" in _said(refused.output)


def test_a_server_that_does_not_answer_is_a_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    """Which server it was, and which setting names it."""
    monkeypatch.setenv("LEADERBOARD_DATABASE_URL", "postgresql+psycopg://x@127.0.0.1:1/x")
    refused = CliRunner().invoke(main, ["task", "list"])
    assert refused.exit_code == 1
    assert "127.0.0.1" in _said(refused.output)
    assert "LEADERBOARD_DATABASE_URL" in refused.output
