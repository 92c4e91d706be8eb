"""Pages that web processes give each other: the same bytes, none that is out of date or damaged."""

import os
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path

import pytest
from flask.testing import FlaskClient
from sqlalchemy import update

from benchmarks.pages import counted
from leaderboard import shared
from leaderboard.application import create_app
from leaderboard.db.tables import Task
from leaderboard.shared import Memory, Shared
from leaderboard.web import kept as kept_views
from leaderboard.web.kept import KeptFiles, SentBody
from tests.web.conftest import Site, browser, enter

BOARD = "/tasks/robots"
FAR = 1e12
Start = Callable[[int], FlaskClient]


@pytest.fixture
def memory() -> Memory:
    """Of two processes."""
    return shared.memory(2)


@pytest.fixture
def start(site: Site, memory: Memory) -> Iterator[Start]:
    """Starts one of the site's two web processes; a browser of a visitor on it."""
    (site.settings.data / "tmp").mkdir(exist_ok=True)

    def started(number: int) -> FlaskClient:
        own = Shared(memory, number, site.settings.data / "tmp" / "web.lock")
        stack.callback(own.close)
        return browser(create_app(site.settings, site.database, shared=own))

    with ExitStack() as stack:
        yield started


def _files(site: Site) -> list[Path]:
    return sorted((site.settings.data / "tmp" / kept_views.FILES_FOLDER).glob("*/*"))


def test_one_process_makes_a_page_and_all_give_it(site: Site, start: Start) -> None:
    """Byte for byte and header for header, asking for no more than version and next date."""
    first, second = start(0), start(1)
    made = first.get(f"{BOARD}.csv")
    with counted(site.database) as sent:
        found = second.get(f"{BOARD}.csv")
    assert found.data == made.data
    assert {**found.headers, "X-Request-ID": "", "Date": ""} == {
        **made.headers,
        "X-Request-ID": "",
        "Date": "",
    }
    assert all("phase" in statement or statement.startswith("BEGIN") for statement in sent)
    with counted(site.database) as sent:
        second.get(f"{BOARD}.csv")
    assert sent == []


def test_a_change_is_seen_through_every_process(site: Site, start: Start) -> None:
    """At once; files of the version before are removed."""
    clients = start(0), start(1)
    before = [client.get(BOARD).data for client in clients]
    old = _files(site)
    with site.database.write() as session:
        session.execute(update(Task).values(name="Robots anew"))
    for client in clients:
        assert "Robots anew" in client.get(BOARD).get_data(as_text=True)
    assert before[0] == before[1]
    assert old
    assert not set(old) & set(_files(site))


def test_nobody_who_is_signed_in_leaves_or_finds_a_file(site: Site, start: Start) -> None:
    """Nor does the page of a visitor come to them."""
    first, second = start(0), start(1)
    enter(site.database, first, "Berta")
    first.get(BOARD)
    assert _files(site) == []
    second.get(BOARD)
    assert len(_files(site)) == 1
    assert "Berta" in first.get(BOARD).get_data(as_text=True)
    assert "Berta" not in second.get(BOARD).get_data(as_text=True)


@pytest.mark.trial
@pytest.mark.parametrize(
    "damage", [lambda content: content[:-1], lambda content: content[:20], lambda _: b""]
)
def test_a_damaged_file_is_not_given(site: Site, start: Start, damage: Callable[[bytes], bytes]) -> None:
    """Whatever became of it, the page is made, and the file with it."""
    made = start(0).get(BOARD).data
    [path] = _files(site)
    whole = path.read_bytes()
    path.write_bytes(damage(whole))
    assert start(1).get(BOARD).data == made
    assert len(path.read_bytes()) == len(whole)


def test_files_of_another_start_are_not_given(site: Site, start: Start, memory: Memory) -> None:
    """A new program may write its pages otherwise, and its clock may have begun anew."""
    start(0).get(BOARD)
    [path] = _files(site)
    kept, address = KeptFiles(site.settings.data, memory, 10**6), "\n".join(("http", "localhost", BOARD, ""))
    other = KeptFiles(site.settings.data, replace(memory, secret=bytes(32)), 10**6)
    assert kept.find(address, int(path.parent.name)) is not None
    assert other.find(address, int(path.parent.name)) is None
    path.rename(other._path(address, int(path.parent.name)))
    assert other.find(address, int(path.parent.name)) is None


def test_files_end_with_their_moment(tmp_path: Path, memory: Memory, monkeypatch: pytest.MonkeyPatch) -> None:
    """A page that a date ends is not given after it, whoever made it."""
    kept = KeptFiles(tmp_path, memory, 10**6)
    kept.keep("a", 1, SentBody(b"page", "text/html", "tag"), {}, 100.0)
    monkeypatch.setattr(kept_views.time, "monotonic", lambda: 99.0)
    found = kept.find("a", 1)
    assert found is not None
    assert found.sent_body().plain == b"page"
    monkeypatch.setattr(kept_views.time, "monotonic", lambda: 100.0)
    assert kept.find("a", 1) is None
    assert kept.find("a", 2) is None


def test_files_have_a_room_of_so_many_bytes(tmp_path: Path, memory: Memory) -> None:
    """Two processes that write without end stay within it, and what is newest is there; all is private."""
    room = 64_000
    both = [KeptFiles(tmp_path, memory, room) for _ in range(2)]
    for number in range(200):
        body = SentBody(os.urandom(1000), "text/html", "tag")
        both[number % 2].keep(f"address {number}", 1, body, {}, FAR)
        found = list((tmp_path / "tmp" / kept_views.FILES_FOLDER).glob("*/*"))
        assert sum(path.stat().st_size for path in found) <= room
        assert both[(number + 1) % 2].find(f"address {number}", 1) is not None
    assert len(found) > 20
    assert {path.stat().st_mode & 0o077 for path in found} == {0}


def test_without_room_on_the_disk_pages_are_made(
    tmp_path: Path, memory: Memory, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """Nothing half written stays, and the operator is told."""
    kept = KeptFiles(tmp_path, memory, 10**6)

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(kept_views.os, "replace", full)
    kept.keep("a", 1, SentBody(b"page", "text/html", "tag"), {}, FAR)
    assert kept.find("a", 1) is None
    assert list((tmp_path / "tmp" / kept_views.FILES_FOLDER).glob("*/*")) == []
    assert "No space left" in caplog.text
