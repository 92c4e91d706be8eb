"""The roads of a participant and of an organiser, walked in a real browser."""

import gzip
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from leaderboard.db.engine import Database
from tests.browser.conftest import follow
from tests.make import build
from tests.make.sites import Site

pytestmark = [pytest.mark.browser, pytest.mark.trial]

GOOD = {"1": ["a", "c", "x"], "2": ["d", "a"], "3": ["x", "e", "f"]}
PASSWORD = "rivers and seven hills"


def test_a_participant_goes_from_an_account_to_a_rank(
    page: Page, site: Site, site_database: Database, tmp_path: Path
) -> None:
    """Sign up with a team, have a bad file rejected, send a good one, see it ranked, drill down."""
    build.task(site_database, tmp_path, name="Small task", measures=("AP", "RR"))
    page.goto(f"{site.address}/")
    follow(page.get_by_role("link", name="Small task"))
    follow(page.get_by_role("link", name="Submit run", exact=True))
    page.get_by_label("Name").fill("Maria")
    page.get_by_label("Password").fill(PASSWORD)
    page.get_by_label("Team").fill("Team One")
    follow(page.get_by_role("button", name="Create account"))

    page.get_by_label("Run file").set_input_files(build.run_file(tmp_path, {"1": ["a", "a"]}, "wrong"))
    follow(page.get_by_role("button", name="Submit run", exact=True))
    expect(page.get_by_role("status")).to_contain_text("Rejected")
    expect(page.get_by_role("table", name="Problems")).to_contain_text("a")

    packed = tmp_path / "good.run.gz"
    packed.write_bytes(gzip.compress(build.run_file(tmp_path, GOOD, "good").read_bytes()))
    follow(page.get_by_role("link", name="submit it again"))
    page.get_by_label("Run file").set_input_files(packed)
    follow(page.get_by_role("button", name="Submit run", exact=True))
    if "/uploads/" in page.url:
        follow(page.get_by_role("link", name="Scores of good"))
    # The page refreshes itself: nobody reloads it here.
    expect(page.locator("#state")).to_contain_text("scored")
    expect(page.get_by_role("table", name="Means")).to_contain_text("1 of 1")

    follow(page.get_by_role("link", name="My page").first)
    expect(page.get_by_role("table", name="Runs of your teams")).to_contain_text("1 of 1")
    expect(page.get_by_role("table", name="Files submitted for your teams")).to_contain_text(
        "rejected, 1 problem"
    )
    follow(page.get_by_role("link", name="Small task"))
    board = page.get_by_role("table", name="Ranked by mean AP")
    expect(board.get_by_role("row", name="good")).to_contain_text("Team One")
    follow(board.get_by_role("link", name="RR", exact=True))
    expect(page.get_by_role("columnheader", name="RR")).to_have_attribute("aria-sort", "descending")
    follow(page.get_by_role("link", name="good", exact=True))
    of_run = page.get_by_role("navigation", name="Run")
    follow(of_run.get_by_role("link", name="Topics", exact=True))
    follow(page.get_by_role("table", name="Scores of good by topic").get_by_role("link", name="3"))
    ranking = page.get_by_role("table", name="3 of 3 documents")
    expect(ranking.get_by_role("row").nth(2)).to_contain_text("e")
    expect(ranking.get_by_role("row").nth(2)).to_contain_text("3")
    follow(page.get_by_role("link", name="All runs on this topic"))
    expect(page.get_by_role("heading", level=1)).to_contain_text("title of 3")


def test_an_organiser_goes_from_files_to_a_board_that_is_scored_again(
    page: Page, site: Site, site_database: Database, tmp_path: Path
) -> None:
    """Sign in by the printed link, create a task, check and publish it, add a revision, see the switch."""
    page.goto(site.sign_in)
    follow(page.get_by_role("main").get_by_role("button"))
    follow(page.get_by_role("link", name="New task"))
    page.locator("input[name=name]").fill("Robust small")
    page.locator("input[name=topics]").set_input_files(build.topics_file(tmp_path))
    page.locator("input[name=qrels]").set_input_files(
        build.qrels_file(tmp_path, {"1": {"a": 2, "b": 0}, "2": {"d": 1}, "77": {"z": 1}})
    )
    follow(page.get_by_role("button", name="Create draft"))

    expect(page.get_by_role("heading", level=1)).to_contain_text("Draft of Robust small")
    expect(page.get_by_role("table", name="Judgments by grade")).to_contain_text("25.0%")
    expect(page.locator("details", has_text="Topics without judgments")).to_contain_text("3")
    expect(page.locator("details", has_text="Judged ids not among the topics")).to_contain_text("77")
    follow(page.get_by_role("button", name="Publish task"))

    run_id = build.run(site_database, tmp_path, GOOD, "theirs", slug="robust-small")
    page.goto(f"{site.address}/runs/{run_id}")
    expect(page.locator("#state")).to_contain_text("scored")
    page.goto(f"{site.address}/tasks/robust-small")
    expect(page.get_by_role("main")).to_contain_text("Qrels revision 1 · 2 topics")

    follow(page.get_by_role("link", name="Organise", exact=True))
    links = page.get_by_role("main").get_by_role("paragraph")
    follow(links.get_by_role("link", name="Revisions", exact=True))
    page.get_by_label("Judgment file").set_input_files(build.qrels_file(tmp_path, name="second"))
    page.get_by_label("Change note").fill("topic 3 was judged")
    follow(page.get_by_role("button", name="Preview changes"))
    expect(page.get_by_role("main")).to_contain_text("Topics gained")
    follow(page.get_by_role("button", name="Publish revision 2"))
    expect(page.get_by_role("main")).to_contain_text("topic 3 was judged")
    page.goto(f"{site.address}/tasks/robust-small")
    expect(page.get_by_role("main")).to_contain_text("Qrels revision 2 · 3 topics")
