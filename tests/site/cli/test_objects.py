"""`leaderboard objects`: files out of the database and back in; what backups say of them."""

from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from leaderboard.cli import main
from leaderboard.db.engine import Database
from leaderboard.settings import DATABASE_FILE
from tests.make import build, stores

pytest.importorskip("obstore", reason="the extra objects is not installed")


@pytest.fixture
def run(data_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):  # type: ignore[no-untyped-def]
    """A function that runs one command on a site with two runs and a folder for large files."""
    database = Database(f"sqlite:///{data_folder / DATABASE_FILE}")
    build.task(database, tmp_path)
    for name in ("one", "other"):
        build.run(database, tmp_path, {"1": ["a", name], "2": ["d"], "3": ["e"]}, name)
    database.dispose()
    monkeypatch.setenv("LEADERBOARD_DATA", str(data_folder))
    monkeypatch.setenv("LEADERBOARD_OBJECTS_URL", (tmp_path / "objects").as_uri())
    monkeypatch.setenv("LEADERBOARD_OBJECTS_BYTES", "1")

    def call(*arguments: object) -> Result:
        return CliRunner().invoke(main, [str(argument) for argument in arguments])

    return call


def test_files_go_out_and_come_back(run, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    """Each step says how many, and doing it again does nothing."""
    shown = run("objects", "show").output
    assert "0 files are in the object store (0 bytes); 2 are still to be moved there." in shown
    assert "2 files moved into the object store." in run("objects", "out").output
    assert "0 files moved into the object store." in run("objects", "out").output
    assert len(stores.objects_in(tmp_path / "objects")) == 2
    assert "2 files are in the object store" in run("objects", "show").output
    assert run("db", "check").exit_code == 0
    assert "2 files moved into the database." in run("objects", "in").output
    assert "0 files are in the object store" in run("objects", "show").output


def test_small_files_and_a_limit_of_zero_stay(run, monkeypatch: pytest.MonkeyPatch) -> None:  # type: ignore[no-untyped-def]
    """Zero is the way to turn it off: nothing goes out any more."""
    for limit in ("0", "100000"):
        monkeypatch.setenv("LEADERBOARD_OBJECTS_BYTES", limit)
        assert "0 files moved" in run("objects", "out").output


@pytest.mark.trial
def test_backups_say_what_they_do_not_have(run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:  # type: ignore[no-untyped-def]
    """And a site that is restored beside the same store has its files."""
    file = tmp_path / "site.backup"
    assert "object store" not in run("backup", file).output
    run("objects", "out")
    said = "2 files (146 bytes) "
    assert said in run("backup", file).output
    monkeypatch.setenv("LEADERBOARD_DATA", str(tmp_path / "restored"))
    assert said in run("restore", file).output
    assert run("db", "check").exit_code == 0
    assert "2 files moved into the database." in run("objects", "in").output


def test_without_a_store_commands_say_what_to_set(run, monkeypatch: pytest.MonkeyPatch) -> None:  # type: ignore[no-untyped-def]
    """One sentence and exit code 1."""
    monkeypatch.delenv("LEADERBOARD_OBJECTS_URL")
    for command in ("out", "in"):
        answer = run("objects", command)
        assert (answer.exit_code, "LEADERBOARD_OBJECTS_URL" in answer.output) == (1, True)


def test_check_stops_where_the_store_is_away(run, monkeypatch: pytest.MonkeyPatch) -> None:  # type: ignore[no-untyped-def]
    """It does not call damaged what it could not ask for."""
    run("objects", "out")
    monkeypatch.setenv("LEADERBOARD_OBJECTS_URL", "file:///dev/null/nowhere")
    answer = run("db", "check")
    assert (answer.exit_code, "does not answer" in answer.output) == (1, True)
    assert "damaged" not in answer.output
