"""A mirror read in a browser from a plain file server: links, tables and the search."""

import threading
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, expect

from leaderboard.mirror import mirror
from leaderboard.settings import Settings
from tests.browser.conftest import follow
from tests.make import worlds
from tests.make.apps import application

pytestmark = [pytest.mark.trial, pytest.mark.browser]


class _Quiet(SimpleHTTPRequestHandler):
    def log_message(self, format: str, *args: Any) -> None:
        """Say nothing of what is asked for."""


@pytest.fixture
def mirrored(site_database: Any, tmp_path: Path) -> Path:
    """The mirror of a small site."""
    worlds.build(site_database, tmp_path)
    url = site_database.engine.url.render_as_string(hide_password=False)
    app = application(Settings(data=tmp_path, database_url=url), site_database)
    mirror.write(app, tmp_path / "mirror", "http://127.0.0.1:8000", None, lambda done, known: None)
    return tmp_path / "mirror"


@pytest.fixture
def served(mirrored: Path) -> Iterator[str]:
    """Its address on a server that knows nothing but files."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(_Quiet, directory=str(mirrored)))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()


@pytest.fixture
def page(browser: Browser) -> Iterator[Page]:
    """A page on which nothing fails: no script, no file that is not there."""
    faults: list[str] = []
    with browser.new_context() as context:
        opened = context.new_page()
        opened.on("pageerror", lambda error: faults.append(str(error)))
        opened.on("response", lambda answer: faults.append(answer.url) if answer.status >= 400 else None)
        yield opened
    assert faults == []


def test_a_reader_walks_a_mirror(served: str, page: Page) -> None:
    """From the first page to the board, a run, a ranking and back; the search finds the run."""
    page.goto(f"{served}/index.html")
    follow(page.get_by_role("link", name="Robots").first)
    expect(page.get_by_role("heading", level=1)).to_have_text("Robots")
    follow(page.locator("table a[href*='runs/1/index.html']").first)
    expect(page).to_have_url(f"{served}/runs/1/index.html")
    run = page.get_by_role("heading", level=1).inner_text()
    follow(page.locator("nav.second").get_by_role("link", name="Origin"))
    expect(page).to_have_url(f"{served}/runs/1/origin/index.html")
    follow(page.get_by_role("link", name="Search"))
    page.get_by_label("Search titles").fill(run)
    follow(page.locator("#search").get_by_role("link").first)
    expect(page.get_by_role("heading", level=1)).to_have_text(run)


def test_every_page_opens_without_a_fault(served: str, mirrored: Path, page: Page) -> None:
    """As files of a server and, the first few, from the disk alone."""
    pages = sorted(mirrored.rglob("*.html"))
    for path in pages[:: max(1, len(pages) // 60)]:
        page.goto(f"{served}/{path.relative_to(mirrored).as_posix()}")
        assert page.get_by_role("main").count() == 1, path
    for name in ("index.html", "tasks/robots/index.html", "search/index.html"):
        page.goto((mirrored / name).as_uri())
        assert page.get_by_role("main").count() == 1, name
