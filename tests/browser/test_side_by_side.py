"""Two rankings side by side: answered by keyboard without JavaScript, and for everybody."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, ViewportSize, expect

from leaderboard.core.policy import OPERATOR
from leaderboard.db.engine import Database
from leaderboard.judging.ops import judging, side_by_side
from leaderboard.judging.ops.side_by_side import ComparisonRequest
from tests.browser.conftest import follow, follow_key
from tests.browser.test_accessibility import page_faults
from tests.make import build

pytestmark = [pytest.mark.browser, pytest.mark.trial]

DOCUMENTS = "".join(
    f'{{"_id": "{name}", "title": "Title of {name}", "text": "{"word " * 1500}"}}\n' for name in "abcdef"
)


@pytest.fixture
def link(site_database: Database, tmp_path: Path) -> str:
    """The path of an assessor's personal link who is asked three questions."""
    documents = tmp_path / "corpus.jsonl"
    documents.write_text(DOCUMENTS)
    build.task(site_database, tmp_path, documents=documents)
    one = build.run(site_database, tmp_path, {topic: list("abc") for topic in "123"}, "one")
    two = build.run(site_database, tmp_path, {topic: list("cdef") for topic in "123"}, "two")
    with site_database.write() as session:
        (made,) = judging.add_link(session, OPERATOR, "t", ["Ada"])
        side_by_side.ask_pair(session, OPERATOR, "t", ComparisonRequest(one, (two,), (made.assessor_id,)))
    return f"/judge/{made.token}"


@pytest.fixture(params=[1280, 390])
def width(request: pytest.FixtureRequest) -> int:
    """A wide and a narrow window."""
    found: int = request.param
    return found


@pytest.fixture
def plain(browser: Browser, width: int) -> Iterator[Page]:
    """A window without JavaScript."""
    size: ViewportSize = {"width": width, "height": 800}
    context = browser.new_context(java_script_enabled=False, viewport=size)
    yield context.new_page()
    context.close()


def _answer(window: Page) -> None:
    """From the first choice on with the keyboard alone: the right one is better, 2 for the left, 4 for it."""
    window.get_by_label("left", exact=True).focus()
    for key in ("ArrowRight", "ArrowRight", "Tab", "Space", "ArrowRight", "ArrowRight"):
        window.keyboard.press(key)
    for key in ("Tab", *("ArrowRight",) * 4):
        window.keyboard.press(key)
    follow_key(window, "Enter")


def test_three_questions_by_keyboard(link: str, plain: Page, address: str) -> None:
    """A document opens in place by Enter; arrows choose, Enter sends; after the last one the list says so."""
    plain.goto(address + link)
    follow(plain.get_by_role("link", name="Start comparing"))
    follow(plain.get_by_role("link", name="Start with topic"))
    text = plain.get_by_role("region", name="Text of left 1")
    expect(text).to_be_hidden()
    plain.locator("#left summary").first.focus()
    plain.keyboard.press("Enter")
    expect(text).to_be_visible()
    for number in (1, 2, 3):
        expect(plain.get_by_text(f"{number - 1} answered")).to_be_visible()
        _answer(plain)
    expect(plain.get_by_text("You have answered all comparisons")).to_be_visible()
    follow(plain.get_by_role("rowheader").first.get_by_role("link"))
    expect(plain.get_by_label("right", exact=True)).to_be_checked()
    assert plain.locator("input[name=left]:checked").get_attribute("value") == "2"
    assert plain.locator("input[name=right]:checked").get_attribute("value") == "4"


def test_pages_are_for_everybody(link: str, browser: Browser, address: str, width: int) -> None:
    """No fault that axe knows, and no sideways scroll, with a document open too."""
    context = browser.new_context(viewport={"width": width, "height": 800}, bypass_csp=True)
    window = context.new_page()
    faults = []
    for step in (link, f"{link}/side-by-side", "question", "text"):
        if step == "question":
            follow(window.get_by_role("link", name="Start with topic"))
            window.locator("summary").nth(1).click()
        elif step == "text":
            window.goto(f"{window.url}/left/1")
        else:
            window.goto(address + step)
        faults += [f"{step}: {fault}" for fault in page_faults(window, width)]
    context.close()
    assert faults == []
