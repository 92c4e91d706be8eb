"""A headless Chromium and a real site in processes of its own."""

import json
import shutil
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.request import urlopen

import pytest
from playwright.sync_api import Browser, Locator, Page, expect

from leaderboard.db.engine import Database
from leaderboard.demo import SLUG
from tests.make.browsers import MISSING, find_chromium, headless
from tests.make.sites import Site, application_thread, running_site


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    """Headless Chromium; skips where none is installed."""
    found = find_chromium()
    if found is None:
        pytest.skip(MISSING)
    with headless(found) as opened:
        yield opened


@dataclass(frozen=True)
class Demo:
    """The demo task on a running site, scored: its address, and its rows by rank."""

    site: str
    board: str
    rows: list[dict[str, Any]]

    def run(self, rank: int) -> int:
        """The id of the run at a rank."""
        found: int = next(row["run_id"] for row in self.rows if row["rank"] == rank)
        return found


SCORED_S = 600
PATIENCE_MS = 60_000
"""How long a page on a busy machine may take to show what is waited for."""
expect.set_options(timeout=PATIENCE_MS)


def follow(way: Locator) -> None:
    """Click a link or button that leads to another page, and wait until that is loaded.

    A click by itself waits for no page: what looks at once, or goes elsewhere, may meet the old one.
    """
    with way.page.expect_navigation(timeout=PATIENCE_MS):
        way.click()


def follow_key(page: Page, key: str) -> None:
    """Press a key that leads to another page, and wait until that is loaded, scripts and all."""
    with page.expect_navigation(timeout=PATIENCE_MS):
        page.keyboard.press(key)


@pytest.fixture(scope="session")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Demo]:
    """A site with the demo task once its runs are scored and compared under the newest revision."""
    data = tmp_path_factory.mktemp("demo") / "site"
    with running_site(data, "--demo") as site:
        address = f"{site.address}/tasks/{SLUG}"
        until = time.monotonic() + SCORED_S
        while time.monotonic() < until:
            board = _read(f"{address}.json")
            if board["revision"] == 2 and board["sentences"]:
                yield Demo(site.address, address, board["rows"])
                return
            time.sleep(0.5)
    raise AssertionError("the demo task was not scored")


def _read(address: str) -> dict[str, Any]:
    with urlopen(address) as answer:
        found: dict[str, Any] = json.load(answer)
    return found


@pytest.fixture
def site_database(sqlite_template: Path, tmp_path: Path) -> Iterator[Database]:
    """The database of the site that `site` starts, migrated and empty."""
    data = tmp_path / "site"
    data.mkdir(mode=0o700)
    path = data / "leaderboard.sqlite3"
    shutil.copyfile(sqlite_template, path)
    # As the site makes it: readable for its owner alone.
    path.chmod(0o600)
    database = Database(f"sqlite:///{path}")
    yield database
    database.dispose()


@pytest.fixture
def site(tmp_path: Path, site_database: Database) -> Iterator[Site]:
    """A running site on that database."""
    with running_site(tmp_path / "site") as started:
        yield started


@pytest.fixture
def address(tmp_path: Path, site_database: Database) -> Iterator[str]:
    """Where that database is shown by a thread of this process, for tests that need no evaluator."""
    with application_thread(site_database, tmp_path / "site") as started:
        yield started


@pytest.fixture
def page(browser: Browser, request: pytest.FixtureRequest) -> Iterator[Page]:
    """A fresh browser window that fails the test where a page logs an error or asks another origin.

    A site that the test starts is started before: so the window is closed before it, as a page still loading
    would log a lost connection.
    """
    for name in ("site", "address"):
        if name in request.fixturenames:
            request.getfixturevalue(name)
    context = browser.new_context()
    context.set_default_timeout(PATIENCE_MS)
    opened = context.new_page()
    complaints: list[str] = []
    hosts: set[str] = set()
    opened.on("pageerror", lambda error: complaints.append(str(error)))
    opened.on(
        "console",
        lambda message: (
            complaints.append(message.text)
            if message.type == "error" and "status of 4" not in message.text
            else None
        ),
    )
    opened.on("request", lambda request: hosts.add(request.url.split("/")[2]))
    yield opened
    context.close()
    assert complaints == []
    assert len(hosts) <= 1, f"requests left the origin: {hosts}"
