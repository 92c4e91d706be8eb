"""A second factor set up and used in a browser, without JavaScript; its pages are for everybody."""

import re

import pytest
from playwright.sync_api import Browser, Page

from leaderboard.db.engine import Database
from tests.browser.conftest import follow
from tests.browser.test_accessibility import page_faults
from tests.make.people import PASSWORD, account, code_of

pytestmark = [pytest.mark.browser, pytest.mark.trial]


def _sign_in(window: Page, address: str) -> None:
    window.goto(f"{address}/sign-in?next=/account")
    window.get_by_label("Name").fill("Anna")
    window.get_by_label("Password").fill(PASSWORD)
    follow(window.get_by_role("main").get_by_role("button", name="Sign in"))


def test_the_road_works_without_script(browser: Browser, address: str, site_database: Database) -> None:
    """From the account's page to recovery codes, out, and in again with a recovery code."""
    made = account(site_database, "Anna")
    context = browser.new_context(java_script_enabled=False)
    window = context.new_page()
    _sign_in(window, address)
    follow(window.get_by_role("link", name="Set up two-factor authentication"))
    follow(window.get_by_role("button", name="Set up two-factor authentication"))
    window.get_by_label("Password").fill(PASSWORD)
    window.get_by_label("Authentication code", exact=True).fill(code_of(site_database, made))
    follow(window.get_by_role("button", name="Turn on two-factor authentication"))
    codes = window.locator("pre.copy").inner_text().split()
    follow(window.get_by_role("link", name="I have saved the codes"))
    window.locator("details.account > summary").click()
    follow(window.get_by_role("button", name="Sign out", exact=True).first)
    _sign_in(window, address)
    assert "/second-factor" in window.url
    window.get_by_label("Authentication code").fill(codes[0])
    follow(window.get_by_role("main").get_by_role("button", name="Sign in"))
    assert re.search("/account$", window.url)
    context.close()


@pytest.mark.parametrize("width", [1280, 390])
def test_its_pages_are_for_everybody(
    browser: Browser, address: str, site_database: Database, width: int
) -> None:
    """No fault that axe knows in either scheme, and nothing scrolls sideways, QR code and all."""
    made = account(site_database, "Anna")
    context = browser.new_context(viewport={"width": width, "height": 900}, bypass_csp=True)
    window, faults = context.new_page(), []

    def look(step: str) -> None:
        faults.extend(f"{step}: {fault}" for fault in page_faults(window, width))

    _sign_in(window, address)
    look("account")
    window.goto(f"{address}/account/second-factor")
    look("off")
    follow(window.get_by_role("button", name="Set up two-factor authentication"))
    look("begun")
    window.get_by_label("Password").fill(PASSWORD)
    window.get_by_label("Authentication code", exact=True).fill(code_of(site_database, made))
    follow(window.get_by_role("button", name="Turn on two-factor authentication"))
    look("codes")
    window.goto(f"{address}/account/second-factor")
    look("on")
    window.goto(f"{address}/account")
    follow(window.get_by_role("button", name="Sign out everywhere"))
    _sign_in(window, address)
    look("asked")
    assert faults == []
    context.close()
