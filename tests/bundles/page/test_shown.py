"""Pictures and snapshots go out with a task and come back; what is no picture, or no board, does not."""

import json
from pathlib import Path

import pytest
from sqlalchemy import select

from leaderboard.boards.ops import snapshots
from leaderboard.bundles.ops import imports, opening
from leaderboard.bundles.ops.checking import ImportRequest
from leaderboard.core.policy import ANONYMOUS, OPERATOR
from leaderboard.db.engine import Database
from leaderboard.db.tables import Run, Snapshot, Task, TaskPicture
from leaderboard.errors import Invalid
from tests.bundles import make as bundles
from tests.make import build, people, pictures
from tests.make.copies import built_once

RANKINGS = {"1": ["a", "c"], "2": ["d"], "3": ["e"]}


@pytest.fixture
@built_once
def folder(database: Database, tmp_path: Path) -> Path:
    """A bundle of a task with a logo, a picture and a snapshot, whose first run is not the site's first."""
    build.task(database, tmp_path, "before")
    build.run(database, tmp_path, RANKINGS, slug="before")
    build.task(database, tmp_path, measures=("AP",))
    build.run(database, tmp_path, RANKINGS)
    build.drain(database)
    pictures.give(database, tmp_path, kind="logo")
    pictures.give(database, tmp_path, kind="picture", alt="Flags")
    with database.write() as session:
        snapshots.keep(session, OPERATOR, snapshots.freeze(session, OPERATOR, "t"))
    bundles.exported(database, tmp_path / "out")
    return tmp_path / "out"


@pytest.mark.trial
def test_they_come_back(database: Database, folder: Path) -> None:
    """Pictures byte for byte; a snapshot under an address of its own, whose rows lead to the runs here."""
    bundles.imported(database, folder, ImportRequest(slug="again"))
    bundles.exported(database, folder.parent / "back", "again")
    for name in ("pictures/logo.png", "pictures/picture.jpg"):
        assert (folder / name).read_bytes() == (folder.parent / "back" / name).read_bytes()
    for table in ("pictures", "snapshots"):
        assert bundles.rows(folder, table) == bundles.rows(folder.parent / "back", table) != []
    with database.read() as session:
        task = session.scalars(select(Task).where(Task.slug == "again")).one()
        sha256 = session.scalars(select(Snapshot.sha256).where(Snapshot.task_id == task.id)).one()
        opened = snapshots.opened(session, ANONYMOUS, sha256[: snapshots.ADDRESS])
        own = session.scalars(select(Run.id).where(Run.task_id == task.id)).all()
        assert [row["run_id"] for row in opened.facts["rows"]] == own
        assert opened.facts["task"] == "again"
        before = session.scalars(select(Snapshot.sha256).where(Snapshot.task_id != task.id)).one()
        first = snapshots.opened(session, ANONYMOUS, before).facts
        assert first["rows"][0]["scores"] == opened.facts["rows"][0]["scores"]


def test_a_release_and_a_visitors_download_have_what_may_be_in_them(database: Database, folder: Path) -> None:
    """No filter knows whom a picture shows; what a visitor is shown of the task has its pictures."""
    bundles.exported(database, folder.parent / "release", is_release=True)
    bundles.public(database, folder.parent / "public")
    for name, kinds in (("release", set[str]()), ("public", {"logo", "picture"})):
        assert {row["kind"] for row in bundles.rows(folder.parent / name, "pictures")} == kinds
        assert not (folder.parent / name / "snapshots").exists()


def test_an_organisers_pictures_are_encoded_anew(database: Database, folder: Path) -> None:
    """As those that a form brings; a snapshot of theirs is not believed."""
    olga = people.viewer(database, people.account(database, "Olga", is_organiser=True))
    with opening.opened(folder) as files, database.write() as session:
        imports.bring(session, olga, files, ImportRequest(slug="again"))
    with database.read() as session:
        task = session.scalars(select(Task).where(Task.slug == "again")).one()
        rows = session.scalars(select(TaskPicture).where(TaskPicture.task_id == task.id)).all()
        assert sorted((row.kind, row.alt) for row in rows) == [("logo", "A flag"), ("picture", "Flags")]
        assert session.scalars(select(Snapshot).where(Snapshot.task_id == task.id)).all() == []


@pytest.mark.trial
@pytest.mark.parametrize(
    ("name", "body", "said"),
    [
        ("pictures/logo.png", b"<svg onload=alert(1)>", "logo was not saved"),
        ("pictures/logo.png", None, "does not match the digest of the picture in its file."),
        ("snapshots/0001.json", b"[]", "Its file is not a snapshot of a leaderboard."),
        (
            "snapshots/0001.json",
            json.dumps({"rows": [{"run_id": 99}]}).encode(),
            "not a snapshot of a leaderboard",
        ),
    ],
    ids=["no picture", "another picture", "no board", "unknown run"],
)
def test_what_is_neither_is_refused(
    database: Database, folder: Path, name: str, body: bytes | None, said: str
) -> None:
    """And nothing is stored."""
    other = pictures.saved(pictures.flag(64, 64), "PNG")
    (folder / name).write_bytes(other if body is None else body)
    bundles.seal(folder)
    with pytest.raises(Invalid) as raised:
        bundles.imported(database, folder, ImportRequest(slug="again"))
    assert said in raised.value.message
    with database.read() as session:
        assert session.scalars(select(Task.slug).order_by(Task.id)).all() == ["before", "t"]
