"""An assessor at work in a real browser: by keyboard, without a connection for a while, on a phone."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, expect
from sqlalchemy import select

from leaderboard.db.engine import Database
from leaderboard.db.tables import Assessment
from tests.browser.conftest import PATIENCE_MS
from tests.make import build, pools

pytestmark = [pytest.mark.browser, pytest.mark.trial]

DOCNOS = tuple(f"d{number:02}" for number in range(20))
TITLE = "#documents article:not([hidden]) h2"


@pytest.fixture
def token(site_database: Database, tmp_path: Path) -> str:
    """The link of somebody who judges twenty documents of topic 1."""
    path = tmp_path / "documents.jsonl"
    path.write_text(
        "".join(
            f'{{"docno": "{docno}", "title": "Title of {docno}", "text": "A text on the title {docno}."}}\n'
            for docno in DOCNOS
        )
    )
    build.task(site_database, tmp_path, documents=path, grade_names={0: "no", 1: "partly", 2: "fully"})
    pools.pool(site_database, {"1": DOCNOS}, guidelines="Judge *well*.")
    (made,) = pools.judges(site_database, "Ada")
    return made


@pytest.fixture
def context(browser: Browser, address: str) -> Iterator[BrowserContext]:
    """A browser of its own, closed before the site is."""
    opened = browser.new_context()
    opened.set_default_timeout(PATIENCE_MS)
    yield opened
    opened.close()


def _begin(context: BrowserContext, address: str, token: str) -> Page:
    """From the link over the guidelines to the first document."""
    page = context.new_page()
    page.goto(f"{address}/judge/{token}")
    page.get_by_role("link", name="Start with topic 1").click()
    expect(page.get_by_role("heading", name="How to judge")).to_be_visible()
    page.get_by_role("link", name="I have read this").click()
    expect(page.locator(TITLE)).to_have_text("Title of d00")
    # The document stands on the page before the script that listens for keys has run.
    page.wait_for_load_state("load")
    return page


def _judge(page: Page, first: int, last: int) -> None:
    """Judge documents by keyboard, each once it is shown, with grades 0, 1 and 2 in turn."""
    for number in range(first, last):
        expect(page.locator(TITLE)).to_have_text(f"Title of {DOCNOS[number]}")
        # Whoever is quick has a page loaded anew, where a document stands before the script listens for keys.
        expect(page.locator("#keys")).to_be_visible()
        page.keyboard.press(str(number % 3))


def _stored(database: Database) -> list[tuple[str, int | None]]:
    """Docno and grade of what is stored and was not taken back."""
    with database.read() as session:
        rows = session.execute(
            select(Assessment.docno, Assessment.grade)
            .where(Assessment.undone.is_(False))
            .order_by(Assessment.docno)
        )
        return [(docno, grade) for docno, grade in rows]


def test_twenty_documents_with_a_dropped_connection_in_the_middle(
    context: BrowserContext, address: str, site_database: Database, token: str
) -> None:
    """By keyboard alone; what cannot be sent is kept, counted, and sent when the connection is back."""
    page = _begin(context, address, token)
    _judge(page, 0, 8)
    page.keyboard.press("u")
    _judge(page, 7, 8)
    page.wait_for_load_state("networkidle")
    context.set_offline(True)
    _judge(page, 8, 12)
    unsent = page.locator("#unsent")
    expect(unsent).to_contain_text("4 not sent yet")
    assert len(_stored(site_database)) == 8
    context.set_offline(False)
    expect(unsent).to_be_hidden()
    assert len(_stored(site_database)) == 12
    _judge(page, 12, 20)
    expect(page.get_by_role("heading", name="This topic is done")).to_be_visible()
    assert _stored(site_database) == [(docno, place % 3) for place, docno in enumerate(DOCNOS)]


def test_a_closed_tab_loses_nothing(
    context: BrowserContext, address: str, site_database: Database, token: str
) -> None:
    """What was judged without a connection is sent by the next page of the assessor in this browser."""
    page = _begin(context, address, token)
    _judge(page, 0, 2)
    page.wait_for_load_state("networkidle")
    context.set_offline(True)
    _judge(page, 2, 5)
    page.close()
    context.set_offline(False)
    again = context.new_page()
    again.goto(f"{address}/judge/{token}/1/1")
    expect(again.locator(TITLE)).to_have_text("Title of d05")
    assert [docno for docno, _ in _stored(site_database)] == list(DOCNOS[:5])
    expect(again.locator("#judged")).to_have_text("5")


def test_skip_undo_and_note_by_keyboard(
    context: BrowserContext, address: str, site_database: Database, token: str
) -> None:
    """A letter each; while a note is written letters are letters; single keys can be turned off."""
    page = _begin(context, address, token)
    page.keyboard.press("s")
    expect(page.locator("#skipped")).to_have_text("1")
    page.keyboard.press("u")
    expect(page.locator(TITLE)).to_have_text("Title of d00")
    page.keyboard.press("n")
    page.keyboard.type("sure 2u")
    page.keyboard.press("Escape")
    page.keyboard.press("2")
    expect(page.locator(TITLE)).to_have_text("Title of d01")
    page.locator("#keys").uncheck()
    page.locator("article:not([hidden])").focus()
    page.keyboard.press("1")
    expect(page.locator(TITLE)).to_have_text("Title of d01")
    page.get_by_role("button", name="partly").click()
    expect(page.locator(TITLE)).to_have_text("Title of d02")
    page.wait_for_load_state("networkidle")
    with site_database.read() as session:
        rows = session.execute(
            select(Assessment.docno, Assessment.grade, Assessment.note, Assessment.undone).order_by(
                Assessment.id
            )
        )
        found = [tuple(row) for row in rows]
    assert found == [*(("d00", None, "", True), ("d00", 2, "sure 2u", False)), ("d01", 1, "", False)]


def test_a_digit_without_a_grade_says_so(context: BrowserContext, address: str, token: str) -> None:
    """A key that means nothing must not look like one that was taken; grades alone are named."""
    page = _begin(context, address, token)
    page.keyboard.press("9")
    expect(page.locator("#dead-key")).to_have_text("Key 9 gives no grade here. Grades: 0, 1, 2.")
    page.keyboard.press("1")
    expect(page.locator("#dead-key")).to_be_hidden()
    expect(page.locator(TITLE)).to_have_text("Title of d01")


def test_undo_is_in_sight_on_a_phone(context: BrowserContext, address: str, token: str) -> None:
    """It stands with the grades, not below documents of any length."""
    page = _begin(context, address, token)
    page.set_viewport_size({"width": 390, "height": 844})
    _judge(page, 0, 1)
    undo = page.get_by_role("button", name="undo the last judgment")
    expect(undo).to_be_in_viewport(ratio=1)
    undo.click()
    expect(page.locator(TITLE)).to_have_text("Title of d00")


def test_a_closed_pool_keeps_what_it_did_not_take(
    context: BrowserContext, address: str, site_database: Database, token: str
) -> None:
    """A judgment that comes too late is not lost without a word: it stays in the browser, with the reason."""
    page = _begin(context, address, token)
    page.wait_for_load_state("networkidle")
    pools.set_state(site_database, "closed")
    _judge(page, 0, 1)
    expect(page.locator("#unsent")).to_contain_text(
        "1 not accepted, but kept: The organisers have closed this pool"
    )
    pools.set_state(site_database, "open")
    page.goto(f"{address}/judge/{token}")
    page.wait_for_load_state("networkidle")
    assert _stored(site_database) == [("d00", 0)]


@pytest.mark.parametrize("script", [True, False])
def test_on_a_phone_with_and_without_script(
    browser: Browser, address: str, site_database: Database, token: str, script: bool
) -> None:
    """Buttons under the thumb, nothing to scroll sideways."""
    context = browser.new_context(
        viewport={"width": 390, "height": 780}, java_script_enabled=script, has_touch=True
    )
    page = _begin(context, address, token)
    for number in range(3):
        expect(page.locator(TITLE)).to_have_text(f"Title of {DOCNOS[number]}")
        page.get_by_role("button", name="fully").tap()
    expect(page.locator(TITLE)).to_have_text("Title of d03")
    box = page.get_by_role("button", name="fully").bounding_box()
    assert box is not None
    assert box["y"] + box["height"] <= 780
    page.wait_for_load_state("networkidle")
    context.close()
    assert _stored(site_database) == [(docno, 2) for docno in DOCNOS[:3]]
