"""Temporary files, and a disk that is full: one place, no leftovers, one sentence, and on it goes."""

import errno
import fcntl
import io
import os
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from sqlalchemy import text

from leaderboard import temporary
from leaderboard.accounts.ops import sessions
from leaderboard.db.engine import Database
from leaderboard.settings import Settings
from leaderboard.web import rules
from tests.make import pages
from tests.make.apps import application
from tests.make.worlds import RUN, World
from tests.web.conftest import Site, browser, enter

SUBMIT = "/tasks/robots/submit"
SMALL_DISK = 16 * 2**20


@pytest.fixture
def _own_place(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """What the process is told about temporary files is forgotten at the end."""
    monkeypatch.setattr(tempfile, "tempdir", tempfile.tempdir)
    monkeypatch.setattr(temporary, "_locks", [])
    yield
    for lock in temporary._locks:
        lock.close()


def _left(data: Path, name: str, age_s: float = 0.0) -> Path:
    folder = data / "tmp" / name
    folder.mkdir(parents=True)
    (folder / "0").write_bytes(b"half a file")
    os.utime(folder, (time.time() - age_s,) * 2)
    return folder


@pytest.mark.usefixtures("_own_place")
def test_temporary_files_lie_in_the_data_folder(tmp_path: Path) -> None:
    """The whole process writes there, and what a process that crashed left is gone."""
    left, other = _left(tmp_path, "upload-a"), _left(tmp_path, "something")
    temporary.use(tmp_path)
    temporary.clean(tmp_path)
    assert tempfile.gettempdir() == str(tmp_path / "tmp")
    assert (left.exists(), other.exists()) == (False, True)


@pytest.mark.usefixtures("_own_place")
def test_what_another_process_writes_stays(tmp_path: Path) -> None:
    """While another process uses the folder only what is older than a day is removed."""
    new, old = _left(tmp_path, "upload-a"), _left(tmp_path, "upload-b", temporary.STALE_AFTER_S + 60)
    with (tmp_path / "tmp" / "users").open("wb") as users:
        fcntl.flock(users, fcntl.LOCK_SH)
        temporary.clean(tmp_path)
    assert (new.exists(), old.exists()) == (True, False)


@pytest.mark.usefixtures("_own_place")
def test_whoever_starts_second_or_again_leaves_what_others_write(tmp_path: Path) -> None:
    """The first is alone and cleans up; one that starts while any other runs does not."""
    temporary.clean(tmp_path)
    first = temporary._locks.pop()
    temporary.clean(tmp_path)
    first.close()
    new = _left(tmp_path, "upload-a")
    temporary.clean(tmp_path)
    assert new.exists()
    for users in temporary._locks:
        users.close()
    temporary.clean(tmp_path)
    assert not new.exists()


def _send(client: Any, run: str = RUN, name: str = "mine.run", **environ: Any) -> Any:
    form = pages.form(client.get(SUBMIT), SUBMIT)
    file = (io.BytesIO(run.encode()), name)
    said = {"headers": {"Accept": "application/json"}, "environ_overrides": environ}
    return client.post(SUBMIT, data={**form, "file": file}, **said)


def test_a_folder_that_is_gone_is_made_again(site: Site) -> None:
    """Somebody removed it while the site ran; uploads go on."""
    shutil.rmtree(site.settings.data / "tmp")
    assert _send(site.browser("Berta")).status_code in (201, 422)


def test_files_are_refused_where_there_is_little_room(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    """507 with a sentence, as page and as JSON; pages and small forms go on, and so does all with room."""
    client = site.browser("Berta")
    little = SimpleNamespace(free=site.settings.free_bytes - 1)
    with monkeypatch.context() as patch:
        patch.setattr(rules.shutil, "disk_usage", lambda _: little)
        for environ in ({}, {rules.ADMITTED: True}):
            refused = _send(client, **environ)
            assert refused.status_code == 507
        assert "disk is full" in refused.json["error"]
        assert client.get("/tasks/robots").status_code == 200
        assert client.post("/teams", data={"name": "Another team"}).status_code == 303
    assert _send(client).status_code in (201, 422)


def test_a_disk_that_fills_meanwhile_is_said(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file that cannot be written any more is 507, and nothing of it stays."""
    client = site.browser("Berta")
    original = Path.open

    def full(self: Path, mode: str = "r", *args: Any, **options: Any) -> Any:
        if mode == "w+b":
            raise OSError(errno.ENOSPC, "No space left on device")
        return original(self, mode, *args, **options)

    form = {**pages.form(client.get(SUBMIT), SUBMIT), "file": (io.BytesIO(RUN.encode()), "mine.run")}
    with monkeypatch.context() as patch:
        patch.setattr(Path, "open", full)
        assert client.post(SUBMIT, data=form).status_code == 507
    assert list((site.settings.data / "tmp").iterdir()) == []
    assert _send(client).status_code in (201, 422)


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A disk of few megabytes; skips where none may be mounted."""
    folder = tmp_path / "disk"
    folder.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", f"size={SMALL_DISK}", "tmpfs", str(folder)]
    if subprocess.run(command, capture_output=True).returncode:
        pytest.skip("only root mounts a small disk")
    yield folder
    subprocess.run(["umount", "--lazy", str(folder)], check=True)


def test_a_full_disk_stops_nothing_but_writing(
    small_disk: Path, world_file: tuple[Path, World], settings: Settings
) -> None:
    """On a full disk pages are served, writing is 507 and health says no; with room all goes on."""
    path = small_disk / "site.sqlite3"
    shutil.copyfile(world_file[0], path)
    here = replace(settings, data=small_disk, database_url=f"sqlite:///{path}", free_bytes=0)
    database = Database(here.url)
    client = browser(application(here, database))
    enter(database, client, "Berta")
    with database.write() as session:
        session.execute(text("UPDATE session SET seen_at = datetime('now', '-1 hour')"))
        assert sessions.STAMP_EVERY.total_seconds() < 3600
    filling = small_disk / "filling"
    with filling.open("wb", buffering=0) as file, pytest.raises(OSError, match="No space"):
        while True:
            file.write(bytes(4096))
    assert client.get("/tasks/robots").status_code == 200
    assert client.get("/healthz").status_code == 503
    assert client.post("/teams", data={"name": "x" * 40}).status_code == 507
    assert _send(client, "# padding\n" * 40_000 + RUN).status_code == 507
    filling.unlink()
    # What the probe found is kept for some seconds.
    assert application(here, database).test_client().get("/healthz").status_code == 200
    assert client.post("/teams", data={"name": "Another team"}).status_code == 303
    assert _send(client).status_code in (201, 422)
    database.dispose()
