"""The upload form with a large file in a real browser: progress, a refusal, cancelling."""

import hashlib
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from leaderboard.db.engine import Database
from tests.browser.conftest import follow
from tests.browser.test_accessibility import page_faults
from tests.make import build
from tests.make.sites import Site

pytestmark = [pytest.mark.browser, pytest.mark.trial]

TOPICS = [str(number) for number in range(1, 501)]


@pytest.fixture
def large(tmp_path: Path) -> Path:
    """A run of 500,000 lines, 19 MB."""
    path = tmp_path / "large.run"
    with path.open("w", encoding="utf-8") as file:
        for topic in TOPICS:
            file.writelines(
                f"{topic} Q0 document-{rank:08d} {rank} {9999 - rank} large\n" for rank in range(1, 1001)
            )
    return path


@pytest.fixture
def form(browser: Browser, site: Site, site_database: Database, tmp_path: Path) -> Iterator[Page]:
    """The upload form for a participant who has a team."""
    build.task(site_database, tmp_path, topics=TOPICS)
    context = browser.new_context()
    context.set_default_timeout(60_000)
    page = context.new_page()
    page.goto(f"{site.address}/tasks/t/submit")
    page.get_by_label("Name").fill("Maria")
    page.get_by_label("Password").fill("rivers and seven hills")
    page.get_by_label("Team").fill("Team One")
    follow(page.get_by_role("button", name="Create account"))
    yield page
    context.close()


def _send(page: Page, path: Path) -> None:
    page.get_by_label("Run files").set_input_files(path)
    page.get_by_role("button", name="Submit run", exact=True).click()


def test_a_file_is_sent_with_progress(form: Page, large: Path) -> None:
    """The amount sent is announced; then the report opens, and the site has every byte."""
    _send(form, large)
    expect(form.get_by_role("status")).to_contain_text("MB")
    form.wait_for_url("**/uploads/*")
    report = form.evaluate("fetch(location.pathname + '.json').then((answer) => answer.json())")
    assert report["sha256"] == hashlib.sha256(large.read_bytes()).hexdigest()


def test_a_refusal_shows_the_form_with_its_problems(form: Page, large: Path) -> None:
    """The entries stay, the problem is announced, and the next attempt goes through."""
    form.get_by_text("Run details").click()
    form.get_by_label("Latency").fill("fast")
    _send(form, large)
    expect(form.get_by_role("alert").first).to_contain_text("Latency")
    expect(form.get_by_label("Latency")).to_have_value("fast")
    assert page_faults(form, 1280) == []
    form.get_by_label("Latency").fill("300 ms")
    _send(form, large)
    form.wait_for_url("**/uploads/*")


def test_cancelling_submits_nothing(form: Page, large: Path) -> None:
    """An upload cut off by its sender leaves no run, and the form can be used again."""
    form.route("**/submit", lambda route: None if route.request.method == "POST" else route.continue_())
    _send(form, large)
    form.get_by_role("button", name="Cancel").click()
    expect(form.get_by_role("status")).to_contain_text("Nothing was submitted")
    form.unroute("**/submit")
    _send(form, large)
    form.wait_for_url("**/uploads/*")
