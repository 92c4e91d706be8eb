"""A board where scripts run: ticks in a bar and in the address, filters at once, heads that stay."""

import re

import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import Demo

pytestmark = [pytest.mark.browser, pytest.mark.trial]


def _tick(page: Page, run_id: int) -> None:
    page.locator(f".board input[value='{run_id}']").check()


def test_ticks_are_counted_and_stay(page: Page, demo: Demo) -> None:
    """In the address, through another order and a filter that hides a ticked run, until they are cleared."""
    first, second = demo.run(1), demo.run(2)
    page.goto(demo.board)
    bar = page.locator("#compare")
    expect(bar).to_contain_text("Select runs to compare.")
    _tick(page, first)
    _tick(page, second)
    expect(bar).to_contain_text("2 selected:")
    expect(bar).to_be_in_viewport()
    expect(page).to_have_url(re.compile(rf"\?ticked={first}&ticked={second}$"))
    page.locator(".board thead a[href*='measure=']:not(.definition)").last.click()
    expect(page).to_have_url(re.compile(rf"measure=.*ticked={first}&ticked={second}$"))
    expect(page.locator(f".board input[value='{first}']")).to_be_checked()
    page.locator("#q").fill(next(row["run"] for row in demo.rows if row["run_id"] == second))
    expect(page.locator(f".board input[value='{first}']")).to_have_count(0)
    expect(page.locator(f".board input[value='{second}']")).to_be_checked()
    expect(bar).to_contain_text("2 selected:")
    expect(page.locator("#q")).to_be_focused()
    expect(page).to_have_url(re.compile(r"q=.*ticked="))
    bar.get_by_role("link", name="Clear").click()
    expect(bar).to_contain_text("Select runs to compare.")
    assert "ticked" not in page.url
    page.reload()
    expect(page.locator(".board :checked")).to_have_count(0)


def test_two_ticks_lead_to_their_pair(page: Page, demo: Demo) -> None:
    """And curves are drawn of the ticked runs alone."""
    page.goto(demo.board)
    _tick(page, demo.run(1))
    _tick(page, demo.run(3))
    page.get_by_role("button", name="Curves").click()
    expect(page).to_have_url(re.compile(rf"/curves\?(board=[^&]*&)?run={demo.run(1)}&run={demo.run(3)}(&|$)"))
    page.go_back()
    page.get_by_role("button", name="Compare").click()
    expect(page).to_have_url(re.compile(rf"/compare\?(board=[^&]*&)?a={demo.run(1)}&b={demo.run(3)}(&|$)"))


def test_a_filter_answers_at_once(page: Page, demo: Demo) -> None:
    """Its words stand in the address, and what was folded open stays so."""
    page.goto(demo.board)
    rows = page.locator(".board tbody tr")
    all_rows = rows.count()
    page.get_by_text("Columns", exact=True).click()
    page.locator("#q").fill("bm25")
    expect(page.locator("#shown")).to_contain_text(re.compile(r"\d+ of \d+ runs"))
    assert 0 < rows.count() < all_rows
    expect(page).to_have_url(re.compile(r"\?q=bm25$"))
    expect(page.get_by_role("button", name="Show these columns")).to_be_visible()
    page.get_by_role("button", name="Show these columns").click()
    expect(page).to_have_url(re.compile(r"columns=.*q=bm25$"))
    page.locator("#q").fill("")
    expect(rows).to_have_count(all_rows)


def test_a_head_stays_in_sight(page: Page, demo: Demo) -> None:
    """Scrolled to its end, the table still says what its columns are."""
    page.set_viewport_size({"width": 1280, "height": 500})
    page.goto(demo.board)
    page.locator(".board tbody tr").last.scroll_into_view_if_needed()
    box = page.get_by_role("region", name="Board")
    assert box.evaluate("(region) => region.scrollHeight - region.clientHeight") == 0, (
        "the page scrolls, not a box"
    )
    expect(page.locator(".board tbody tr").last).to_be_in_viewport()
    expect(page.locator(".board thead th").first).to_be_in_viewport()
    assert page.locator(".board thead").bounding_box()["y"] < 1, "it sticks to the window"  # type: ignore[index]


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_phone_shows_every_score(page: Page, demo: Demo, scheme: str) -> None:
    """Two lines a run, none of whose numbers is cut off; the page does not scroll sideways."""
    page.emulate_media(color_scheme="dark" if scheme == "dark" else "light")
    page.set_viewport_size({"width": 390, "height": 800})
    page.goto(demo.board)
    cut = page.evaluate(
        """() => [...document.querySelectorAll(".board tbody td.number:not(.unjudged)")]
             .filter((cell) => cell.scrollWidth > cell.clientWidth
                               || cell.getBoundingClientRect().right > innerWidth)
             .map((cell) => cell.textContent)"""
    )
    assert cut == []
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
