"""A mirror: whole, linked within itself, and nothing that a visitor is not shown."""

import hashlib
import json
import re
import shutil
from collections.abc import Iterator
from datetime import UTC, datetime
from html import unescape
from pathlib import Path
from types import SimpleNamespace
from urllib.parse import unquote, urlsplit

import pytest
from click.testing import CliRunner, Result

from leaderboard.boards.ops import board as boards
from leaderboard.bundles.ops import opening
from leaderboard.cli import main
from leaderboard.core.policy import ANONYMOUS
from leaderboard.db.engine import Database
from leaderboard.errors import Invalid
from leaderboard.mirror import mirror
from leaderboard.mirror.mirror import rewritten
from leaderboard.settings import Settings
from leaderboard.web import session
from tests.make import twins, worlds
from tests.make.apps import application
from tests.make.twins import World
from tests.web.conftest import Site

SITE = "http://127.0.0.1:8000"
LINKS = re.compile(r'\s(?:href|src)="([^"]*)"')
Only = tuple[str, frozenset[int]] | None
Mirrored = tuple[Path, mirror.MirrorRecord, Site]


def _mirror(site: Site | World, folder: Path, only: Only = None) -> mirror.MirrorRecord:
    return mirror.write(site.app, folder, SITE, only, lambda done, known: None)


def _tree(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def broken(folder: Path) -> Iterator[str]:
    """Links of pages that lead to no file, or to the site itself."""
    for page in folder.rglob("*.html"):
        for found in LINKS.findall(page.read_text(encoding="utf-8")):
            parts = urlsplit(unescape(found))
            if parts.scheme in ("mailto", "data") or (parts.netloc and not found.startswith(SITE)):
                continue
            target = (page.parent / unquote(parts.path)).resolve()
            is_there = not parts.path or (not parts.netloc and target.is_file())
            if not (is_there and _has_document(target, unquote(parts.fragment))):
                yield f"{page.relative_to(folder)}: {found}"


def _has_document(page: Path, anchor: str) -> bool:
    """Whether a link to a document leads to it, not only to the page that it is on."""
    return not anchor.startswith("document-") or f' id="{anchor}"' in page.read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def mirrored(
    world_file: tuple[Path, worlds.World], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Mirrored]:
    """A mirror that tests only read, its record, and the site that it is of."""
    folder = tmp_path_factory.mktemp("mirrored")
    path = shutil.copyfile(world_file[0], folder / "site.sqlite3")
    settings = Settings(data=folder, database_url=f"sqlite:///{path}")
    database = Database(settings.url)
    site = Site(application(settings, database), database, settings, world_file[1])
    yield folder / "mirror", _mirror(site, folder / "mirror"), site
    database.dispose()


@pytest.fixture(scope="module")
def mirrored_task(mirrored: Mirrored, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A mirror of one task, by the command, that tests only read."""
    folder = tmp_path_factory.mktemp("task") / "mirror"
    said = _command(mirrored[2], folder, "robots")
    assert said.exit_code == 0, said.output
    assert f"Start at {folder / 'index.html'}" in said.output
    return folder


def _command(site: Site, folder: Path, task: str) -> Result:
    environment = {"LEADERBOARD_DATABASE_URL": site.settings.database_url, "LEADERBOARD_PUBLIC_URL": SITE}
    return CliRunner().invoke(main, ["mirror", str(folder), "--task", task], env=environment)


@pytest.mark.trial
def test_all_links_lead_to_files_and_the_record_says_what_there_is(mirrored: Mirrored) -> None:
    """Every page, table and file that a visitor comes to by links is there, under its digest."""
    folder, record, site = mirrored
    assert list(broken(folder)) == []
    for name in ("index.html", "tasks/robots/index.html", "tasks/robots.csv", "measures/index.html"):
        assert (folder / name).is_file(), name
    assert (folder / f"runs/{site.world.run}/topics/1/index.html").is_file()
    said = json.loads((folder / mirror.RECORD).read_text())
    assert (said["site"], said["pages"], said["task"]) == (SITE, record.pages, None)
    sums = dict(line.split("  ")[::-1] for line in (folder / mirror.SUMS).read_text().splitlines())
    assert sums.keys() | {mirror.SUMS} == _tree(folder).keys()
    for name, digest in sums.items():
        assert hashlib.sha256((folder / name).read_bytes()).hexdigest() == digest


@pytest.mark.trial
def test_documents_of_a_topic_are_one_page(mirrored: Mirrored) -> None:
    """Every document of a ranking is a section of its topic's page, as the site marks and grades it."""
    folder, _, site = mirrored
    ranking = (folder / f"runs/{site.world.run}/topics/1/index.html").read_text(encoding="utf-8")
    found = {unescape(link) for link in LINKS.findall(ranking) if "#document-" in link}
    assert len(found) > 1
    assert len({link.partition("#")[0] for link in found}) == 1
    assert len(list((folder / "tasks/robots/documents").glob("~topic-1-*"))) == 1
    assert not list(folder.glob("tasks/robots/documents/~docno-*topic*"))


@pytest.mark.trial
def test_figures_are_those_of_the_site(mirrored: Mirrored) -> None:
    """Drawn out of the page that is there, each is what the site gives for its address."""
    folder, _, site = mirrored
    client = application(site.settings, site.database).test_client()
    paths = (f"/runs/{site.world.run}/topics/1", f"/runs/{site.world.run}/curves", "/tasks/robots/topics/1")
    pages = [client.get(path, base_url=SITE).text for path in paths]
    found = {unescape(link) for page in pages for link in LINKS.findall(page) if "figure=" in link}
    links = {link for link in found if not link.endswith(".pdf")}
    assert links
    drawn = {path.read_bytes() for path in folder.rglob("*~figure-*.svg")}
    assert {client.get(link, base_url=SITE).data for link in links} <= drawn


@pytest.mark.trial
def test_tables_are_those_of_the_site(mirrored: Mirrored) -> None:
    """Files that are no pages are written as they are sent."""
    folder, _, site = mirrored
    client = application(site.settings, site.database).test_client()
    for path in ("/tasks/robots.csv", "/tasks/robots/topics.json", "/tasks/robots.tex"):
        assert (folder / path[1:]).read_bytes() == client.get(path, base_url=SITE).data


@pytest.mark.trial
def test_nothing_needs_a_server(mirrored: Mirrored) -> None:
    """No form, field or script but the site's own small one is left, and no way to sign in."""
    folder = mirrored[0]
    for page in folder.rglob("*.html"):
        text = page.read_text(encoding="utf-8")
        assert not re.search("<(form|input|button|select|textarea)\\b", text), page
        assert "htmx" not in text.replace('name="htmx-config"', ""), page
        assert "sign-in" not in text, page
    assert "created on" in (folder / "index.html").read_text(encoding="utf-8")


@pytest.mark.trial
def test_one_task_is_mirrored_alone(mirrored_task: Path) -> None:
    """Its own pages and the measures; the first page leads on to it."""
    assert {path.name for path in (mirrored_task / "tasks").iterdir() if path.is_dir()} == {"robots"}
    assert 'url=tasks/robots/index.html"' in (mirrored_task / "index.html").read_text()
    assert list(broken(mirrored_task)) == []
    assert not (mirrored_task / "teams").exists()


@pytest.mark.trial
def test_a_mirror_takes_the_place_of_an_earlier_one_and_of_nothing_else(
    mirrored: Mirrored, mirrored_task: Path, tmp_path: Path
) -> None:
    """Files that no mirror wrote are not touched; a mirror that fails leaves the earlier one."""
    site = mirrored[2]
    folder = shutil.copytree(mirrored_task, tmp_path / "mirror")
    before = _tree(folder)
    with pytest.raises(Invalid, match="no public start page"):
        _mirror(site, folder, ("draft", frozenset()))
    assert _tree(folder) == before
    assert not folder.with_name("mirror.unfinished").exists()
    _mirror(site, folder)
    assert not any("http-equiv" in page.read_text() for page in [folder / "index.html"])
    other = folder.with_name("own")
    other.mkdir()
    (other / "thesis.txt").write_text("mine")
    with pytest.raises(Invalid, match="files that are not from a mirror"):
        _mirror(site, other)
    assert _tree(other) == {"thesis.txt": b"mine"}


@pytest.mark.trial
def test_a_mirrored_task_is_made_again(mirrored: Mirrored, mirrored_task: Path, tmp_path: Path) -> None:
    """`leaderboard import` of a mirror of one task; one of several tasks says which there are."""
    assert "task.zip" in (mirrored_task / "tasks/robots/about/index.html").read_text(encoding="utf-8")
    environment = {"LEADERBOARD_DATABASE_URL": f"sqlite:///{tmp_path / 'other.sqlite3'}"}
    made = CliRunner().invoke(main, ["db", "upgrade"], env=environment)
    assert made.exit_code == 0, made.output
    said = CliRunner().invoke(main, ["import", str(mirrored_task)], env=environment)
    assert said.exit_code == 0, said.output
    other = Database(environment["LEADERBOARD_DATABASE_URL"])
    with mirrored[2].database.read() as ours, other.read() as theirs:
        shown, again = (boards.board(each, ANONYMOUS, "robots") for each in (ours, theirs))
        assert [(row.run, row.team) for row in again.rows] == [(row.run, row.team) for row in shown.rows]
    other.dispose()


def test_a_mirror_of_several_tasks_names_them(tmp_path: Path) -> None:
    """Which one is imported is asked for; where nothing can be downloaded that is said."""
    (tmp_path / opening.MIRROR).write_text("{}")
    with pytest.raises(Invalid, match="part of its data was not public"):
        opening.in_mirror(tmp_path)
    for slug in ("a", "b"):
        (tmp_path / "tasks" / slug).mkdir(parents=True)
        (tmp_path / "tasks" / slug / opening.IN_MIRROR).write_bytes(b"")
    with pytest.raises(Invalid, match="a mirror of 2 tasks. Name one of them: .*tasks/a/task.zip, "):
        opening.in_mirror(tmp_path)


@pytest.mark.trial
def test_two_worlds_that_differ_in_what_is_held_back_have_one_mirror(
    sqlite_template: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing that visitors are not shown gets into a file, byte for byte."""
    moment = datetime.now(UTC).replace(microsecond=0)
    trees = []
    monkeypatch.setattr(session, "new_id", lambda: "chance")
    twins.open_under_one_address(monkeypatch)
    monkeypatch.setattr(mirror, "datetime", SimpleNamespace(now=lambda zone: moment))
    for secret in ("a", "b"):
        (tmp_path / secret).mkdir()
        world = twins.build(sqlite_template, tmp_path / secret, secret, moment)
        _mirror(world, tmp_path / f"mirror-{secret}")
        trees.append(_tree(tmp_path / f"mirror-{secret}"))
        world.database.dispose()
    one, other = trees
    assert one.keys() == other.keys()
    assert [name for name, body in one.items() if body != other[name]] == []
    assert sum(name.endswith(".html") for name in one) > 100


@pytest.mark.trial
def test_the_command_mirrors_one_task(mirrored: Mirrored, mirrored_task: Path, tmp_path: Path) -> None:
    """`leaderboard mirror --task`; a task that visitors do not see has none."""
    with mirrored[2].database.read() as session:
        board = boards.board(session, ANONYMOUS, "robots")
    page = (mirrored_task / "tasks/robots/index.html").read_text(encoding="utf-8")
    assert all(row.run in page for row in board.rows)
    assert _command(mirrored[2], tmp_path / "mirror", "draft").exit_code == 1


@pytest.mark.parametrize(
    ("page", "expected"),
    [
        ('<a href="/x">X</a>', '<a href="to:/x">X</a>'),
        ('<a href="/gone">X</a>', "<a>X</a>"),
        ('<nav><a href="/gone">X</a><a href="/x">Y</a></nav>', '<nav><a href="to:/x">Y</a></nav>'),
        ('<a href="#f">X</a>', '<a href="#f">X</a>'),
        (
            '<a title="&lt;b&gt;" href="/a?b&amp;c">&amp; &#8211;</a>',
            '<a title="&lt;b&gt;" href="to:/a?b&amp;c">&amp; &#8211;</a>',
        ),
        ("<form><input><select><option>a</select></form>", ""),
        (
            "<form><table><tr><td><input>1</td></tr></table><button>Go</button></form>",
            "<table><tr><td>1</td></tr></table>",
        ),
        ('<script src="/static/vendor/htmx.js"></script>', ""),
        (
            '<script type="application/ld+json">{"a": "<"}</script>',
            '<script type="application/ld+json">{"a": "<"}</script>',
        ),
        (
            '<svg viewBox="0 0 1 1"><a xlink:href="/x"><text>1</text></a></svg>',
            '<svg viewBox="0 0 1 1"><a xlink:href="to:/x"><text>1</text></a></svg>',
        ),
        ("<!doctype html><!-- c --><br>", "<!doctype html><br>"),
    ],
)
def test_a_page_is_written_as_it_was_but_for_what_needs_a_server(page: str, expected: str) -> None:
    """Tags keep their letters; only addresses change."""
    assert rewritten(page, lambda address: None if address == "/gone" else f"to:{address}") == expected
