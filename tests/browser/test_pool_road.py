"""The road from a pool to a board that rests on its judgments, walked in a real browser."""

import re
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect
from sqlalchemy import select

from leaderboard.db.engine import Database
from leaderboard.db.tables import Account
from tests.browser.conftest import follow, follow_key
from tests.make import build, people
from tests.make.sites import Site

pytestmark = [pytest.mark.browser, pytest.mark.trial]

ALPHA = {"1": ["a", "b", "c"], "2": ["d", "e"]}
BETA = {"1": ["c", "b", "a"], "2": ["e", "d"]}
JUDGED = {"1": {"a": 0}, "2": {"d": 1}}
"""Of these judgments alpha leads; once c is relevant to topic 1, beta does."""


def _judge(browser: Browser, link: str, grades: dict[str, str]) -> None:
    """Everything an assessor is asked for, a key for each document."""
    context = browser.new_context()
    page = context.new_page()
    page.goto(link)
    follow(page.get_by_role("link", name=re.compile("^Start")))
    for _ in grades:
        shown = page.locator("#documents article:visible")
        docno = shown.get_attribute("data-docno")
        assert docno is not None
        expect(page.locator("#keys")).to_be_visible()
        page.keyboard.press(grades[docno])
        expect(page.locator(f"#documents article[data-docno={docno}]:visible")).to_have_count(0)
        expect(page.locator("#unsent")).to_be_hidden()
        onwards = page.get_by_role("link", name=re.compile("^Go to topic"))
        expect(onwards.or_(page.get_by_text("This topic is done")).or_(shown).first).to_be_visible()
        if onwards.is_visible():
            follow(onwards)
    context.close()


def test_an_organiser_has_a_pool_judged_by_two_and_the_board_switches(
    page: Page, browser: Browser, site: Site, site_database: Database, tmp_path: Path
) -> None:
    """Build a pool, have it judged by two, decide where they differ, publish, and see another leader."""
    page.goto(site.sign_in)
    follow(page.get_by_role("main").get_by_role("button"))
    with site_database.read() as session:
        organiser = session.scalars(select(Account.id)).one()
    viewer = people.viewer(site_database, organiser)
    build.task(site_database, tmp_path, topics=("1", "2"), judgments=JUDGED, measures=("RR",), viewer=viewer)
    for name, rankings in (("alpha", ALPHA), ("beta", BETA)):
        build.run(site_database, tmp_path, rankings, name, team_name=f"Team {name}")
    page.goto(f"{site.address}/tasks/t")
    board = page.get_by_role("table", name="Ranked by mean RR")
    expect(board.get_by_role("row").nth(1)).to_contain_text("alpha")
    expect(page.get_by_role("main")).to_contain_text("Qrels revision 1")

    follow(page.get_by_role("link", name="Organise", exact=True))
    follow(page.get_by_role("link", name="Pools").first)
    follow(page.get_by_role("link", name="Create a pool"))
    page.get_by_label("Selection method").select_option("depth")
    follow(page.get_by_role("button", name="Preview"))
    follow(page.get_by_role("button", name="Create pool"))
    page.get_by_label("Open it anyway").check()
    follow(page.get_by_role("button", name="Open pool to assessors"))

    follow(page.get_by_role("link", name="Assessors", exact=True))
    page.get_by_label("Names, one per line").fill("Anne\nBert")
    follow(page.get_by_role("button", name="Add assessors and show links"))
    links = dict(line.split("\t") for line in page.locator("pre.copy").inner_text().splitlines() if line)
    page.get_by_label("Distribution", exact=True).select_option("all")
    follow(page.get_by_role("button", name="Assign documents"))
    _judge(browser, links["Anne"], {"b": "0", "c": "1", "e": "0"})
    _judge(browser, links["Bert"], {"b": "0", "c": "0", "e": "0"})

    page.goto(f"{site.address}/tasks/t/pools/1/agreement")
    expect(page.get_by_role("table", name="Pairs of assessors")).to_contain_text("Anne and Bert")
    follow(page.get_by_role("link", name="Adjudication", exact=True))
    follow(page.get_by_role("link", name="Start with the first document"))
    expect(page.get_by_role("table", name="Labels of this document")).to_contain_text("Bert")
    expect(page.get_by_label("Keyboard shortcuts")).to_be_visible()
    follow_key(page, "1")
    expect(page.get_by_role("main")).to_contain_text("All disagreements are decided")

    follow(page.get_by_role("link", name="Publish", exact=True))
    page.get_by_label("Change note").fill("pool 1, judged by two")
    follow(page.get_by_role("button", name="Preview changes"))
    expect(page.get_by_role("main")).to_contain_text("beta")
    follow(page.get_by_role("button", name="Publish revision 2"))
    expect(page.get_by_role("heading", level=1)).to_contain_text("2")
    page.goto(f"{site.address}/tasks/t")
    # The page refreshes itself until the board has switched.
    expect(page.get_by_role("main")).to_contain_text("Qrels revision 2")
    expect(page.get_by_role("table", name="Ranked by mean RR").get_by_role("row").nth(1)).to_contain_text(
        "beta"
    )
