"""A large run file in a real browser: sent in pieces, cut off, stopped, gone on with after a reload."""

import hashlib
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, Request, expect

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
    """The upload form of somebody with a team; connections may fail here."""
    build.task(site_database, tmp_path, topics=TOPICS)
    context = browser.new_context()
    context.set_default_timeout(60_000)
    page = context.new_page()
    page.goto(f"{site.address}/tasks/t/submit")
    page.get_by_label("Name").fill("Maria")
    page.get_by_label("Password").fill("rivers and seven hills")
    page.get_by_label("Team").fill("Team One")
    follow(page.get_by_role("button", name="Make the account"))
    yield page
    context.close()


def _send(page: Page, path: Path) -> None:
    page.get_by_label("Run files").set_input_files(path)
    page.get_by_role("button", name="Send", exact=True).click()


def _stored(page: Page, path: Path) -> None:
    """The report on the file comes, and the site has every byte of it."""
    expect(page.locator("main")).to_contain_text("large", timeout=60_000)
    page.wait_for_url("**/uploads/*")
    told = page.evaluate("fetch(location.pathname + '.json').then((answer) => answer.json())")
    assert told["sha256"] == hashlib.sha256(path.read_bytes()).hexdigest()


def test_a_cut_connection_costs_one_piece(form: Page, large: Path) -> None:
    """The network goes away in the middle of it; once it is back the rest is sent, and nothing before."""
    offsets: list[int] = []

    def watch(request: Request) -> None:
        if request.method == "PATCH":
            offsets.append(int(request.headers["upload-offset"]))
            if len(offsets) == 3:
                form.context.set_offline(True)

    form.on("request", watch)
    _send(form, large)
    expect(form.get_by_role("status")).to_contain_text("trying again")
    form.context.set_offline(False)
    _stored(form, large)
    assert offsets == sorted(offsets)
    assert len(offsets) <= large.stat().st_size // 2**22 + 2


def test_a_stopped_file_goes_on_after_a_reload(form: Page, large: Path) -> None:
    """The page says how much is there; the same file is chosen again and goes on from there."""
    offsets: list[int] = []
    form.on("request", lambda sent: offsets.append(int(sent.headers.get("upload-offset", 0))))
    with form.expect_response(lambda answer: answer.request.method == "PATCH"):
        _send(form, large)
    form.get_by_role("button", name="Stop").click()
    expect(form.get_by_role("status")).to_contain_text("Stopped")
    assert page_faults(form, 1280) == []
    form.reload()
    expect(form.locator("main")).to_contain_text("of large.run are here")
    assert page_faults(form, 1280) == []
    offsets.clear()
    _send(form, large)
    _stored(form, large)
    assert min(filter(None, offsets)) >= 2**22
    form.goto(form.url.split("/uploads/")[0] + "/tasks/t/submit")
    expect(form.locator("main")).not_to_contain_text("are here")


def test_a_refusal_is_said_before_a_byte_is_sent(form: Page, large: Path) -> None:
    """A name that no run may have: the site's words, and the form as it was filled in."""
    sent: list[str] = []
    form.on("request", lambda request: sent.append(request.method))
    form.get_by_label("Name of the run").fill("no name")
    _send(form, large)
    expect(form.get_by_role("status")).to_contain_text("For instance no-name")
    assert sent == ["POST"]
