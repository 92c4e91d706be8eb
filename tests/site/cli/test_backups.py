"""Backups by command, and those that a running site makes by itself."""

import errno
import gc
import os
import time
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from sqlalchemy import text
from sqlalchemy.exc import OperationalError

from leaderboard.cli import main
from leaderboard.cli.serving import kept_backups
from leaderboard.core.cli import failures
from leaderboard.db.engine import Database
from leaderboard.errors import Invalid
from leaderboard.settings import Settings
from leaderboard.site.ops import backups
from tests.make import build
from tests.make.damage import turned
from tests.make.sites import START_S, running_site

RANKINGS = {"1": ["a", "b", "c"], "2": ["d", "a"], "3": ["f", "e"]}


@pytest.fixture
def site(data_folder: Path, tmp_path: Path) -> Settings:
    """A site in a data folder of its own."""
    settings = Settings(data=data_folder)
    database = Database(settings.url)
    build.task(database, tmp_path, measures=("AP",))
    build.run(database, tmp_path, RANKINGS)
    build.drain(database)
    database.dispose()
    return settings


def _run(*arguments: object) -> Result:
    return CliRunner().invoke(main, list(map(str, arguments)))


def test_a_site_is_backed_up_and_restored_by_command(site: Settings, tmp_path: Path) -> None:
    """The restored site has the same board; a second restore into it is refused."""
    file, other = tmp_path / "site.backup", tmp_path / "other"
    made = _run("backup", file, "--data", site.data)
    assert made.exit_code == 0, made.output
    assert "verified by a test restore" in made.output
    restored = _run("restore", file, "--data", other)
    assert restored.exit_code == 0, restored.output
    boards = [_run("board", "t", "--data", folder).output for folder in (site.data, other)]
    assert boards[0] == boards[1]
    again = _run("restore", file, "--data", other)
    assert again.exit_code == 1
    assert "already exists" in again.output


def test_a_broken_backup_is_refused_in_a_sentence(site: Settings, tmp_path: Path) -> None:
    """Exit code 1, what is wrong, and nothing in the folder it was to go to."""
    file = tmp_path / "site.backup"
    _run("backup", file, "--no-verify", "--data", site.data)
    file.write_bytes(turned(file.read_bytes()))
    refused = _run("restore", file, "--data", tmp_path / "other")
    assert refused.exit_code == 1
    assert "is not a valid backup: its digest does not match" in refused.output
    assert list((tmp_path / "other").iterdir()) == []


def test_the_oldest_backups_go_and_rests_of_killed_ones_too(site: Settings) -> None:
    """Only as many as are to be kept, the newest, stay in the folder, which only its owner reads."""
    folder = kept_backups.folder_of(site)
    folder.mkdir()
    for name in ("leaderboard-20200101T000000Z.backup", "leaderboard-20200102T000000Z.backup"):
        (folder / name).write_bytes(b"old")
    (folder / "leaderboard-20200103T000000Z.backup.unverified.part").write_bytes(b"half")
    keeping = Settings(data=site.data, backup_keep=2)
    assert kept_backups.back_up_once(keeping)
    names = [path.name for path in folder.iterdir()]
    assert "leaderboard-20200102T000000Z.backup" in names
    assert len(names) == 2
    newest = kept_backups.kept(folder)[-1]
    assert newest.stat().st_mode & 0o777 == 0o600
    backups.restore(newest, f"sqlite:///{site.data / 'again.sqlite3'}")


def test_a_backup_that_fails_is_logged_and_tried_again(
    site: Settings, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """Whatever the database or the disk says, the process goes on, and says what it was."""
    refusals = [OperationalError("", {}, Exception("server closed")), OSError(28, "No space left on device")]
    for refusal in refusals:

        def refuse(*_: object, refusal: Exception = refusal) -> None:
            raise refusal

        monkeypatch.setattr(backups, "back_up", refuse)
        assert not kept_backups.back_up_once(site)
        assert "could not be backed up" in caplog.messages[-1]


def test_the_next_backup_is_due_when_the_last_one_is_old_enough(tmp_path: Path) -> None:
    """At once where there is none; never later than one span from now, whatever the clock did."""
    assert kept_backups.seconds_to_next(tmp_path, 60.0, 1000.0) == 0.0
    file = tmp_path / "leaderboard-20260101T000000Z.backup"
    file.write_bytes(b"")
    for made, expected in ((980, 40.0), (900, 0.0), (9000, 60.0)):
        os.utime(file, (made, made))
        assert kept_backups.seconds_to_next(tmp_path, 60.0, 1000.0) == expected
    with pytest.raises(Invalid, match="such as 6h"):
        kept_backups.seconds_of("6 hours")


def test_serve_refuses_a_span_it_cannot_read(tmp_path: Path) -> None:
    """Before anything is started."""
    refused = _run("serve", "--every", "often", "--data", tmp_path / "d")
    assert refused.exit_code == 1
    assert "such as 6h" in refused.output


@pytest.mark.trial
def test_a_running_site_backs_itself_up(site: Settings) -> None:
    """`serve --every` makes a backup beside web and evaluators, which can be restored."""
    folder, until = kept_backups.folder_of(site), time.monotonic() + START_S
    with running_site(site.data, "--every", "6h", "--keep", "2"):
        while not kept_backups.kept(folder) and time.monotonic() < until:
            time.sleep(0.1)
    (made,) = kept_backups.kept(folder)
    restored = backups.restore(made, f"sqlite:///{site.data / 'again.sqlite3'}")
    assert restored.rows > 0


def test_a_full_disk_is_one_sentence_and_leaves_nothing(
    site: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """Wherever it fills: neither a part of the backup nor a word about what was being read."""
    folder = tmp_path / "full"
    folder.mkdir()
    original = backups.packed_row
    written = 0

    def packed(row: tuple[object, ...]) -> bytes:
        nonlocal written
        written += 1
        if written > 20:
            raise OSError(errno.ENOSPC, "No space left on device")
        return original(row)

    monkeypatch.setattr(backups, "packed_row", packed)
    refused = _run("backup", folder / "site.backup", "--data", site.data)
    assert refused.exit_code == 1
    assert refused.output == f"Error: No space left on device. {failures.NO_ROOM}\n"
    assert list(folder.iterdir()) == []
    gc.collect()
    assert caplog.text == ""


def test_a_newer_backup_or_database_names_the_schema(site: Settings, tmp_path: Path) -> None:
    """Every command says so in a sentence, and none copies the database first."""
    _run("backup", tmp_path / "site.backup", "--no-verify", "--data", site.data)
    database = Database(site.url)
    with database.write() as session:
        session.execute(text("UPDATE alembic_version SET version_num = '9999'"))
    backups.write(database, tmp_path / "newer.backup")
    database.dispose()
    said = "Error: This was created by a newer version of the program (schema 9999). Install that version.\n"
    before = sorted(site.data.iterdir())
    for command in (
        ["db", "upgrade", "--data", site.data],
        ["db", "check", "--data", site.data],
        ["worker", "--once", "--data", site.data],
        ["restore", tmp_path / "newer.backup", "--data", tmp_path / "other"],
    ):
        refused = _run(*command)
        assert (refused.exit_code, refused.output) == (1, said), command
    assert sorted(site.data.iterdir()) == before
