"""From who leads to because of these documents: walked by keyboard alone, with JavaScript and without."""

import re
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.browser.conftest import Demo

pytestmark = [pytest.mark.browser, pytest.mark.trial]

MOST_PRESSES = 150
"""Of the tab key until a link of the page's main part is reached."""
ROAD = (
    ("main table th a[href^='/runs/']", r"/runs/\d+$"),
    ("main nav a[href^='/runs/'][href$='/topics']", r"/runs/\d+/topics$"),
    ("main a[href^='/runs/'][href*='/topics/']:not([tabindex])", r"/runs/\d+/topics/[^/]+$"),
    ("main nav a[href^='/tasks/'][href*='/topics/']", r"/tasks/[^/]+/topics/[^/]+$"),
    ("main tr:nth-child(2) a[href^='/runs/'][href*='/topics/']", r"/runs/\d+/topics/[^/]+$"),
    ("main table a[href*='/documents?']", r"/documents\?"),
)
"""From the board: a run, its topics, its ranking of one, all runs on it, another's ranking, a document."""


@pytest.fixture(params=[True, False], ids=["script", "no script"])
def window(request: pytest.FixtureRequest, browser: Browser) -> Iterator[Page]:
    """A window with or without JavaScript."""
    context = browser.new_context(java_script_enabled=request.param)
    yield context.new_page()
    context.close()


def _follow(window: Page, selector: str) -> None:
    """Skip to the content, press the tab key until the link is reached, then enter."""
    window.keyboard.press("Tab")
    expect(window.locator("a.skip")).to_be_focused()
    window.keyboard.press("Enter")
    for _ in range(MOST_PRESSES):
        window.keyboard.press("Tab")
        if window.locator(f":focus:is({selector})").count():
            window.keyboard.press("Enter")
            return
    raise AssertionError(f"{selector} is not reached by the tab key on {window.url}")


def test_from_the_board_to_a_document_and_back_by_keyboard(window: Page, demo: Demo) -> None:
    """Every step is a link that the tab key reaches; going back shows the pages as they were."""
    window.goto(demo.board)
    seen = [(window.url, window.title())]
    for selector, address in ROAD:
        _follow(window, selector)
        window.wait_for_url(re.compile(address), wait_until="load")
        expect(window.get_by_role("heading", level=1)).to_be_visible()
        seen.append((window.url, window.title()))
    assert len(set(seen)) == len(ROAD) + 1
    for url, title in reversed(seen[:-1]):
        # The skip link is a step of its own where it was followed.
        while window.url.split("#")[0] != url:
            window.go_back()
        assert window.title() == title
