"""Documents left out, in a browser: the form's fields, the preview and what was published."""

from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from leaderboard.accounts.ops import sessions
from leaderboard.core.policy import OPERATOR
from leaderboard.db.engine import Database
from leaderboard.tasks.ops import roles
from leaderboard.trec.qrels.left_out import LeftOut
from tests.browser.conftest import PATIENCE_MS
from tests.browser.test_accessibility import WIDE, page_faults
from tests.make import build, people

pytestmark = [pytest.mark.browser, pytest.mark.trial]
LEFT_OUT = LeftOut({"1": frozenset({b"b", b"x"})})
REVISIONS = "/tasks/t/revisions"


def _opened(database: Database, address: str, browser: Browser, width: int, account: int) -> Page:
    context = browser.new_context(viewport={"width": width, "height": 900}, bypass_csp=True)
    context.set_default_timeout(PATIENCE_MS)
    with database.write() as session:
        token = sessions.start(session, account, "127.0.0.1", "test")
    context.add_cookies([{"name": "session", "value": token, "url": address}])
    return context.new_page()


@pytest.mark.parametrize("width", [390, WIDE])
def test_documents_left_out_are_for_everybody(
    width: int, browser: Browser, address: str, site_database: Database, tmp_path: Path
) -> None:
    """No fault that axe knows, no sideways scroll: fields unfolded, refused, previewed, told after."""
    olga = people.account(site_database, "Olga", is_organiser=True)
    build.task(site_database, tmp_path)
    build.run(site_database, tmp_path, {"1": ["x", "a", "b"]}, "one")
    build.revise(site_database, tmp_path, build.JUDGMENTS, left_out=LEFT_OUT)
    build.drain(site_database)
    with site_database.write() as session:
        roles.give(session, OPERATOR, "t", "Olga", "organiser")
    page, faults = _opened(site_database, address, browser, width, olga), []

    def look(what: str) -> None:
        for fold in page.locator("details").all():
            fold.evaluate("details => details.open = true")
        faults.extend(f"{what}: {fault}" for fault in page_faults(page, width))

    page.goto(f"{address}{REVISIONS}")
    expect(page.locator("#left_out")).to_be_attached()
    look("the form")
    page.locator("#judgments-earlier").fill("nonsense")
    page.locator("#judgments-note").fill("Round 2.")
    page.get_by_role("button", name="Preview changes").click()
    expect(page.get_by_role("alert")).to_be_visible()
    look("refused")
    page.goto(f"{address}{REVISIONS}")
    for fold in page.locator("details").all():
        fold.evaluate("details => details.open = true")
    listed = tmp_path / "left-out.txt"
    listed.write_text("1 x\n2 a\n")
    page.locator("#left_out").set_input_files(listed)
    page.locator("#judgments-note").fill("Round 2.")
    page.get_by_role("button", name="Preview changes").click()
    page.wait_for_url("**/revisions/drafts/*")
    look("the preview")
    for step in (
        f"{REVISIONS}/2",
        "/tasks/t",
        "/runs/1",
        "/runs/1/topics/1",
        "/tasks/t/documents?docno=x&topic=1",
    ):
        answer = page.goto(f"{address}{step}")
        assert answer is not None
        assert answer.ok, step
        look(step)
    page.context.close()
    assert faults == []
