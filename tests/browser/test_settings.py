"""A task's settings in a real browser: for everybody, wide and narrow, and saved without a script."""

from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from leaderboard.accounts.ops import sessions
from leaderboard.db.engine import Database
from tests.browser.conftest import PATIENCE_MS, follow
from tests.browser.test_accessibility import page_faults
from tests.make import build, people

pytestmark = [pytest.mark.browser, pytest.mark.trial]
WIDE = 1280
PAGES = (
    "settings?section={}",
    *("settings/measures?q=gain", "settings/topics/1", "people", "organise", "discard"),
)
SECTIONS = ("description", "measures", "grades", "teams", "topics", "life")


def _opened(database: Database, address: str, browser: Browser, width: int, account: int) -> Page:
    context = browser.new_context(viewport={"width": width, "height": 900}, bypass_csp=True)
    context.set_default_timeout(PATIENCE_MS)
    with database.write() as session:
        token = sessions.start(session, account, "127.0.0.1", "test")
    context.add_cookies([{"name": "session", "value": token, "url": address}])
    return context.new_page()


def test_settings_are_for_everybody(
    browser: Browser, address: str, site_database: Database, tmp_path: Path
) -> None:
    """No fault that axe knows, no sideways scroll; a section is found, saved and open again."""
    account = people.account(site_database, "Olga", is_organiser=True)
    slug = build.task(site_database, tmp_path, viewer=people.viewer(site_database, account), publish=False)
    faults = []
    for width in (WIDE, 390):
        page = _opened(site_database, address, browser, width, account)
        paths = [PAGES[0].format(section) for section in SECTIONS] + list(PAGES[1:])
        for path in (f"/tasks/{slug}/{path}" for path in paths):
            page.goto(f"{address}{path}")
            faults += [f"{path} at {width}: {fault}" for fault in page_faults(page, width)]
        page.goto(f"{address}/tasks/new")
        faults += [f"new at {width}: {fault}" for fault in page_faults(page, width)]
    assert faults == []
    page.goto(f"{address}/tasks/{slug}/settings")
    page.get_by_text("Runs that count", exact=True).click()
    page.get_by_label("Final runs per team").fill("3")
    follow(page.get_by_role("button", name="Save runs that count"))
    expect(page.get_by_role("status")).to_contain_text("Saved")
    expect(page.get_by_label("Final runs per team")).to_have_value("3")
