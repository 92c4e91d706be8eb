"""The judging room on a screen, while somebody judges by keyboard."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, BrowserContext, expect

from leaderboard.db.engine import Database
from leaderboard.services.assessors import screens
from leaderboard.services.policy import OPERATOR
from tests.browser.conftest import PATIENCE_MS
from tests.make import build, pools

pytestmark = [pytest.mark.browser, pytest.mark.trial]

DOCNOS = ("d0", "d1", "d2", "d3")
TITLE = "#documents article:not([hidden]) h2"


@pytest.fixture
def links(site_database: Database, tmp_path: Path) -> tuple[str, str]:
    """The links of an assessor with four documents, which two runs rank otherwise, and of a screen."""
    path = tmp_path / "documents.jsonl"
    path.write_text(
        "".join(
            f'{{"docno": "{docno}", "title": "Title of {docno}", "text": "A text."}}\n' for docno in DOCNOS
        )
    )
    build.task(site_database, tmp_path, documents=path, judgments=None, measures=("P@2",))
    for name, docnos in (("upwards", DOCNOS), ("downwards", DOCNOS[::-1])):
        build.run(site_database, tmp_path, {"1": docnos}, name)
    pools.pool(site_database, {"1": DOCNOS})
    (token,) = pools.judges(site_database, "Ada", order="docno")
    with site_database.write() as session:
        return token, screens.make(session, OPERATOR, "t", 1)


@pytest.fixture
def contexts(browser: Browser, address: str) -> Iterator[tuple[BrowserContext, BrowserContext]]:
    """Two browsers that know nothing of each other, closed before the site is."""
    opened = browser.new_context(), browser.new_context()
    for context in opened:
        context.set_default_timeout(PATIENCE_MS)
    yield opened
    for context in opened:
        context.close()


def test_a_screen_shows_each_judgment_without_a_reload(
    contexts: tuple[BrowserContext, BrowserContext], address: str, links: tuple[str, str]
) -> None:
    """Ada finds d0 relevant: `upwards` leads on the screen; d2 and d3 too, and `downwards` does."""
    desk, screen = (context.new_page() for context in contexts)
    token, room = links
    screen.goto(f"{address}/screen/{room}")
    screen.evaluate("() => { window.sameScreen = true }")
    expect(screen.locator("#live")).to_contain_text("Nothing has been judged yet")
    desk.goto(f"{address}/judge/{token}")
    desk.get_by_role("link", name="Begin with topic 1").click()
    desk.wait_for_load_state("load")
    rows = screen.locator("#order-table tbody tr")
    for docno, key in zip(DOCNOS, "1011", strict=True):
        expect(desk.locator(TITLE)).to_have_text(f"Title of {docno}")
        expect(desk.locator("#keys")).to_be_visible()
        desk.keyboard.press(key)
        if docno == "d0":
            expect(rows.first).to_contain_text("upwards")
    expect(rows.first).to_contain_text("downwards")
    expect(rows.first).to_contain_text("▲ 1")
    expect(screen.locator("#live")).to_contain_text("4 judgments")
    expect(screen.locator("#live")).to_contain_text("Everything is judged")
    assert screen.evaluate("() => window.sameScreen")
