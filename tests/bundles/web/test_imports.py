"""Importing in the browser: a look at what was understood, then a button; what is refused leaves nothing."""

import io
import tarfile
import zipfile
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from flask.testing import FlaskClient
from sqlalchemy import select
from werkzeug.test import TestResponse

from leaderboard.boards.ops import board as boards
from leaderboard.bundles.ops import opening
from leaderboard.bundles.web import imports
from leaderboard.core.policy import ANONYMOUS
from leaderboard.db.tables import Account, Audit, Run, Task, TaskRole
from tests.bundles import make as bundles
from tests.make import build, pages
from tests.make.apps import application
from tests.make.worlds import QRELS, TOPICS
from tests.web.conftest import Site

ADDRESS = "/tasks/import"
RUN = "1 Q0 a 1 9 t\n1 Q0 b 2 8 t\n2 Q0 c 1 7 t\n"


def _track(**more: str) -> dict[str, str]:
    return {"topics.tsv": TOPICS, "qrels.txt": QRELS, "runs/input.one": RUN, **more}


def _zip(files: dict[str, str]) -> bytes:
    body = io.BytesIO()
    with zipfile.ZipFile(body, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, text in files.items():
            archive.writestr(name, text)
    return body.getvalue()


def _look(client: FlaskClient, *files: tuple[str, bytes], **words: str) -> TestResponse:
    data: dict[str, Any] = {**words, "file": [(io.BytesIO(body), name) for name, body in files]}
    return client.post(ADDRESS, data=data)


def _kept(site: Site) -> list[Path]:
    """What waits in the data folder, and what is unpacked there."""
    unpacked = [path for path in (site.settings.data / "tmp").glob("*") if path.is_dir()]
    return [*(site.settings.data / opening.FOLDER).glob("*"), *unpacked]


def _scored(site: Site, folder: Path) -> None:
    """A scored board of two runs under two revisions."""
    build.task(site.database, folder, "scored", measures=("AP", "nDCG@10"))
    build.run(site.database, folder, {"1": ["a", "c"], "2": ["d"]}, "first", slug="scored", team_name="Owls")
    build.run(site.database, folder, {"1": ["c"], "3": ["e"]}, "second", slug="scored")
    build.drain(site.database)
    build.revise(site.database, folder, {"1": {"a": 1, "c": 2}, "2": {"d": 1}, "3": {"e": 0}}, "scored")
    build.drain(site.database)


def _slugs(site: Site) -> set[str]:
    with site.database.read() as session:
        return set(session.scalars(select(Task.slug)))


def test_a_zip_of_files_becomes_a_task(site: Site) -> None:
    """The new-task page leads there; one page says what is what, one button makes it, for its organiser."""
    client = site.browser("Olga")
    assert f'href="{ADDRESS}"' in client.get("/tasks/new").text
    before = _slugs(site)
    seen = _look(client, ("Track 99.zip", _zip(_track(**{"notes.pdf": "hm"}))), team="Lab")
    text = pages.main(seen)
    assert seen.status_code == 200
    assert "topics, from qrels.txt" in text
    assert pages.table(seen, "Runs") == [["one", "Lab", "official", "2", "runs/input.one"]]
    assert "notes.pdf" in text
    assert _slugs(site) == before
    fields = pages.form(seen, f"{ADDRESS}/make")
    assert (fields["name"], fields["slug"]) == ("Track-99", "track-99")
    made = client.post(f"{ADDRESS}/make", data=fields)
    assert made.headers["Location"] == "/tasks/track-99/organise"
    assert client.get(made.headers["Location"]).status_code == 200
    with site.database.read() as session:
        task = session.scalars(select(Task).where(Task.slug == "track-99")).one()
        assert session.scalars(select(Run.name).where(Run.task_id == task.id)).all() == ["one"]
        olga = session.scalars(select(Account.id).where(Account.name == "Olga")).one()
        assert session.scalars(select(TaskRole.account_id).where(TaskRole.task_id == task.id)).all() == [olga]
    assert _kept(site) == []
    assert client.post(f"{ADDRESS}/make", data=fields).status_code == 404


def test_a_folder_is_taken_as_browsers_send_it(site: Site) -> None:
    """Each file with its path, hidden ones among them; the folder's name is the task's."""
    files = [(f"robust/{name}", body.encode()) for name, body in _track(**{".DS_Store": "x"}).items()]
    seen = _look(site.browser("Olga"), *files)
    assert pages.form(seen, f"{ADDRESS}/make")["name"] == "robust"
    assert ".DS_Store" not in seen.text


def test_an_export_comes_in_as_an_organiser_may_make_it(site: Site, tmp_path: Path) -> None:
    """Its runs, judgments and board; not what only the operator is believed, which the page says."""
    _scored(site, tmp_path)
    bundles.exported(site.database, tmp_path / "out.zip", "scored")
    with site.database.read() as session:
        shown = boards.board(session, ANONYMOUS, "scored")
    client = site.browser("Olga")
    seen = _look(client, ("out.zip", (tmp_path / "out.zip").read_bytes()), slug="again")
    text = pages.main(seen)
    assert "A complete export; all checksums match." in text
    assert "are added to the existing teams with these names" in text
    made = client.post(f"{ADDRESS}/make", data=pages.form(seen, f"{ADDRESS}/make"))
    assert made.headers["Location"] == "/tasks/again/organise", made.text
    build.drain(site.database)
    with site.database.read() as session:
        again = boards.board(session, ANONYMOUS, "again")
        assert session.scalars(select(Audit.action).where(Audit.action == "task.import")).all()
    assert shown.rows[0].scores["AP"] is not None
    assert [(row.run, row.team, row.scores) for row in again.rows] == [
        (row.run, row.team, row.scores) for row in shown.rows
    ]


def test_an_operator_brings_all_of_an_export(site: Site, tmp_path: Path) -> None:
    """In the browser as by the command: a second export is the first one."""
    _scored(site, tmp_path)
    bundles.exported(site.database, tmp_path / "out.zip", "scored")
    bundles.exported(site.database, tmp_path / "out", "scored")
    settings = replace(site.settings, operators="Olga")
    client = replace(site, app=application(settings, site.database)).browser("Olga")
    seen = _look(client, ("out.zip", (tmp_path / "out.zip").read_bytes()), slug="again")
    assert "Not imported" not in pages.main(seen)
    assert client.post(f"{ADDRESS}/make", data=pages.form(seen, f"{ADDRESS}/make")).status_code == 303
    build.drain(site.database)
    bundles.exported(site.database, tmp_path / "back", "again")
    for table in ("editions", "revisions", "phases", "announcements", "changes"):
        assert bundles.rows(tmp_path / "back", table) == bundles.rows(tmp_path / "out", table)


def test_a_taken_slug_keeps_the_files(site: Site) -> None:
    """The page comes again with the reason, and another slug makes the task."""
    client = site.browser("Olga")
    fields = pages.form(_look(client, ("t.zip", _zip(_track()))), f"{ADDRESS}/make")
    refused = client.post(f"{ADDRESS}/make", data={**fields, "slug": "robots"})
    assert (refused.status_code, "is already in use" in refused.text) == (409, True)
    again = {**pages.form(refused, f"{ADDRESS}/make"), "slug": "free"}
    assert client.post(f"{ADDRESS}/make", data=again).status_code == 303


def _linked() -> bytes:
    body = io.BytesIO()
    with tarfile.open(fileobj=body, mode="w:gz") as tar:
        link = tarfile.TarInfo("topics.tsv")
        link.type, link.linkname = tarfile.SYMTYPE, "/etc/passwd"
        tar.addfile(link)
    return body.getvalue()


def _bomb() -> bytes:
    return _zip({"topics.tsv": "0" * (10 * 2**20)})


@pytest.mark.parametrize(
    ("name", "body", "status", "said"),
    [
        ("a.zip", _zip({"notes.txt": "hello"}), 422, "neither a topics file nor a qrels file"),
        ("a.tar.gz", _linked(), 422, "neither a topics file nor a qrels file"),
        ("a.zip", _bomb(), 422, "neither a topics file nor a qrels file"),
        ("a.zip", _zip(_track(**{"topics-2.tsv": TOPICS})), 422, "Topics file"),
        (
            "a.zip",
            _zip({"bundle.json": "{}", "SHA256SUMS": f"{'0' * 64}  x\n"}),
            422,
            "The bundle is incomplete or damaged",
        ),
        ("a.zip", b"PK\x03\x04 damaged", 422, "cut off"),
    ],
    ids=["nothing", "link", "bomb", "two topics", "not whole", "damaged"],
)
def test_what_is_refused_leaves_nothing(site: Site, name: str, body: bytes, status: int, said: str) -> None:
    """With the reason on the form; neither files nor rows stay."""
    before = _slugs(site)
    refused = _look(site.browser("Olga"), (name, body))
    assert (refused.status_code, said in refused.text) == (status, True), pages.main(refused)
    assert _kept(site) == []
    assert _slugs(site) == before


def test_an_archive_has_bounds(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of bytes and of files; an import at a time."""
    client = site.browser("Olga")
    with monkeypatch.context() as patched:
        patched.setattr(imports, "MOST_FILES", 2)
        refused = _look(client, ("a.zip", _zip(_track())))
        assert refused.status_code in (413, 422)
        assert _kept(site) == []
    with imports.turn():
        busy = _look(client, ("a.zip", _zip(_track())))
    assert (busy.status_code, "Retry-After" in busy.headers) == (503, True)


def test_files_are_their_senders_own_and_go_after_a_day(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    """Another organiser with the token finds nothing; newer files take the place of earlier ones."""
    client = site.browser("Olga")
    first = pages.form(_look(client, ("a.zip", _zip(_track()))), f"{ADDRESS}/make")
    assert site.browser("Otto").post(f"{ADDRESS}/make", data=first).status_code == 404
    second = pages.form(_look(client, ("a.zip", _zip(_track()))), f"{ADDRESS}/make")
    assert client.post(f"{ADDRESS}/make", data=first).status_code == 404
    assert len(_kept(site)) == 1
    monkeypatch.setattr(opening, "KEPT_S", -1)
    opening.sweep(site.settings.data)
    assert _kept(site) == []
    assert client.post(f"{ADDRESS}/make", data=second).status_code == 404
