"""The documentation as a browser shows it: from the disk, and from a plain web server."""

import threading
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.make import documents

pytestmark = [pytest.mark.browser, pytest.mark.trial]

LOOKED_AT = (
    "docs/guides/run-a-track",
    "docs/guides/coming-from",
    "docs/measures",
    "docs/operating",
    "README",
)
Kept = list[str]


class _Quiet(SimpleHTTPRequestHandler):
    """Says nothing of what it answers."""

    def log_message(self, *_: Any) -> None:
        """Nothing."""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The built site."""
    return documents.site(tmp_path_factory)


@pytest.fixture(scope="module")
def address(folder: Path) -> Iterator[str]:
    """Where a plain web server has it."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(_Quiet, directory=str(folder)))
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    thread.join()
    server.server_close()


def _watched(page: Page, address: str) -> Kept:
    """What goes wrong on a page from now on: refused or lost requests, other origins, errors of scripts."""
    kept: Kept = []
    page.on("requestfailed", lambda request: kept.append(f"failed: {request.url}"))
    page.on(
        "response",
        lambda answer: kept.append(f"{answer.status}: {answer.url}") if answer.status >= 400 else None,
    )
    page.on("pageerror", lambda error: kept.append(str(error)))
    page.on(
        "request",
        lambda request: (
            None if request.url.startswith((address, "data:")) else kept.append(f"elsewhere: {request.url}")
        ),
    )
    return kept


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_pages_open_without_a_failed_request(browser: Browser, address: str, scheme: Any) -> None:
    """At the width of a phone and of a laptop, none wider than the window."""
    for width in (390, 1280):
        context = browser.new_context(viewport={"width": width, "height": 800}, color_scheme=scheme)
        page = context.new_page()
        kept = _watched(page, address)
        for name in ("docs/index", *LOOKED_AT):
            page.goto(f"{address}/{name}.html", wait_until="networkidle")
            assert page.evaluate("document.documentElement.scrollWidth") <= width, name
        context.close()
        assert kept == []


def test_the_search_needs_no_server(browser: Browser, folder: Path) -> None:
    """Read from the disk, it finds the page of a word."""
    page = browser.new_page()
    page.goto(f"{folder.as_uri()}/search.html?q=adjudicator")
    expect(page.locator("#search-results")).to_contain_text("Assess")
    page.close()


def test_it_is_read_without_scripts(browser: Browser, address: str) -> None:
    """From the first address to a guide, by links alone."""
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(f"{address}/")
    page.wait_for_url("**/docs/index.html")
    page.get_by_role("main").get_by_role("link", name="Run a track").click()
    expect(page.get_by_role("heading", level=1)).to_contain_text("Run a track")
    assert urlsplit(page.url).path == "/docs/guides/run-a-track.html"
    context.close()
