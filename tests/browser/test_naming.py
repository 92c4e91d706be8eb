"""Pseudonyms, a link for reviewers and a group, by clicks; their pages are for everybody."""

from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page

from leaderboard.db.engine import Database
from tests.browser.conftest import follow
from tests.browser.test_accessibility import page_faults
from tests.make import build, people
from tests.make.people import PASSWORD

pytestmark = [pytest.mark.browser, pytest.mark.trial]
WIDTH = 390


def test_names_and_groups_by_clicks(
    browser: Browser, address: str, site_database: Database, tmp_path: Path
) -> None:
    """An organiser who is in a team gives pseudonyms and declares a group; a reviewer needs no account."""
    olga = people.account(site_database, "Olga", is_organiser=True)
    people.team(site_database, "Owls", olga)
    build.task(site_database, tmp_path, viewer=people.viewer(site_database, olga), measures=("AP",))
    for team in ("Owls", "Bears"):
        build.run(site_database, tmp_path, {"1": ["a"]}, f"run-{team}", team_name=team)
    build.drain(site_database)
    context = browser.new_context(viewport={"width": WIDTH, "height": 900}, bypass_csp=True)
    window, faults = context.new_page(), []

    def look(shown: Page, step: str) -> None:
        faults.extend(f"{step}: {fault}" for fault in page_faults(shown, WIDTH))

    window.goto(f"{address}/sign-in?next=/tasks/t/organise")
    window.get_by_label("Name").fill("Olga")
    window.get_by_label("Password").fill(PASSWORD)
    follow(window.get_by_role("main").get_by_role("button", name="Sign in"))
    follow(window.get_by_role("link", name="Team pseudonyms"))
    window.get_by_label("I understand").check()
    follow(window.get_by_role("button", name="Assign pseudonyms"))
    look(window, "pseudonyms")
    window.goto(f"{address}/tasks/t/own-names")
    follow(window.get_by_role("button", name="Create link"))
    look(window, "own names")
    link = window.get_by_label("Copy this link now").input_value()
    window.goto(f"{address}/tasks/t/groups")
    window.get_by_label("Name").fill("students")
    window.get_by_label("Owls", exact=True).check()
    follow(window.get_by_role("button", name="Declare group"))
    look(window, "groups")
    follow(window.get_by_role("link", name="students"))
    look(window, "board of a group")
    stranger = browser.new_context(viewport={"width": WIDTH, "height": 900}, bypass_csp=True)
    paper = stranger.new_page()
    paper.goto(link)
    look(paper, "review")
    assert "Owls" not in paper.content()
    assert faults == []
    for each in (context, stranger):
        each.close()
