"""What the small script adds to pages, in a real browser."""

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Page, expect

from tests import ROOT

pytestmark = [pytest.mark.browser, pytest.mark.trial]

STATIC = ROOT / "leaderboard" / "web" / "static"
SCRIPTS = [STATIC / "app.js", STATIC / "ranking.js"]
PAGE = """<!doctype html><html lang="en"><body><main>
<p>Sent <time datetime="2026-07-01T12:30:00+00:00">2026-07-01 12:30</time> UTC, scored
<time datetime="2026-07-01T23:30:00+00:00">2026-07-01 23:30</time>.</p>
<p data-keys hidden>Keys.</p>
<div role="region" tabindex="0" id="ranking"><table><tbody>
<tr id="rank-1"><td><a href="/1">1</a></td></tr>
<tr id="rank-2" class="relevant"><td><a href="/2">2</a></td></tr>
<tr id="rank-3"><td><a href="/3">3</a></td></tr>
<tr id="rank-4" class="relevant"><td><a href="/4">4</a></td></tr>
</tbody></table></div>
<p><a id="jump" href="#rank-4">First relevant</a></p>
<pre class="copy">@misc{one}</pre>
<input id="words">
</main><footer><span id="zone">Times in UTC.</span></footer></body></html>"""


def _open(browser: Browser, zone: str) -> Iterator[Page]:
    context = browser.new_context(timezone_id=zone, permissions=["clipboard-read", "clipboard-write"])
    page = context.new_page()
    page.route("https://site.example/", lambda route: route.fulfill(body=PAGE, content_type="text/html"))
    page.goto("https://site.example/")
    for script in SCRIPTS:
        page.add_script_tag(content=script.read_text(encoding="utf-8"))
    # What scripts leave until the page is painted has been done by then.
    page.evaluate("new Promise(done => requestAnimationFrame(() => setTimeout(done)))")
    yield page
    context.close()


@pytest.fixture
def berlin(browser: Browser) -> Iterator[Page]:
    """The page read in Berlin."""
    yield from _open(browser, "Europe/Berlin")


@pytest.fixture
def utc(browser: Browser) -> Iterator[Page]:
    """The page read where the clock shows UTC."""
    yield from _open(browser, "UTC")


def _focused(page: Page) -> str:
    return str(page.evaluate("document.activeElement.getAttribute('href') ?? document.activeElement.id"))


def test_times_say_what_the_readers_clock_showed(berlin: Page) -> None:
    """On pointing always; written out, after the word UTC, once the reader asks for it, until not."""
    first, second = berlin.locator("time").all()
    assert first.get_attribute("title") == "2026-07-01 14:30 Europe/Berlin"
    assert second.get_attribute("title") == "2026-07-02 01:30 Europe/Berlin"
    assert berlin.locator("p").first.inner_text().startswith("Sent 2026-07-01 12:30 UTC (2026-07-01 14:30")
    button = berlin.get_by_role("button", name="show Europe/Berlin")
    button.click()
    assert berlin.evaluate("document.documentElement.className") == "own-zone"
    berlin.get_by_role("button", name="hide Europe/Berlin").click()
    assert berlin.evaluate("document.documentElement.className") == ""


def test_nothing_is_offered_where_the_clock_shows_utc(utc: Page) -> None:
    """A second time would be the same."""
    assert utc.locator("time").first.get_attribute("title") is None
    assert utc.locator("#zone").inner_text() == "Times in UTC."


def test_two_keys_walk_the_relevant_documents(berlin: Page) -> None:
    """Down and up from where the focus is, only within the ranking, and no further than its ends."""
    expect(berlin.locator("[data-keys]")).to_be_visible()
    berlin.locator("#words").press("j")
    assert _focused(berlin) == "words"
    berlin.locator("#ranking").press("j")
    assert _focused(berlin) == "/2"
    for key, there in (("j", "/4"), ("j", "/4"), ("k", "/2"), ("Control+j", "/2"), ("k", "/2")):
        berlin.keyboard.press(key)
        assert _focused(berlin) == there, key


def test_a_jump_takes_the_focus_along(berlin: Page) -> None:
    """The keys go on from the document that the link led to."""
    berlin.locator("#jump").click()
    berlin.wait_for_function("document.activeElement.getAttribute('href') === '/4'")
    berlin.keyboard.press("k")
    assert _focused(berlin) == "/2"


def test_a_citation_is_copied_whole(berlin: Page) -> None:
    """The button says so and is itself again after a while."""
    berlin.get_by_role("button", name="Copy").click()
    expect(berlin.get_by_role("button", name="Copied")).to_be_visible()
    assert berlin.evaluate("navigator.clipboard.readText()") == "@misc{one}"


def test_the_scripts_stay_small() -> None:
    """Of 6 KB together: figures become PNG in the browser, and menus close, which took 1.5 KB more."""
    assert sum(script.stat().st_size for script in SCRIPTS) <= 6 * 1024
