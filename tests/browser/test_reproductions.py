"""Pages of reproductions in a browser: axe finds nothing, nothing scrolls sideways, light and dark."""

from pathlib import Path

import pytest
from playwright.sync_api import Browser
from sqlalchemy import select

from leaderboard.accounts.ops import sessions
from leaderboard.db.engine import Database
from leaderboard.db.tables import Task, TaskRole
from tests.browser.test_accessibility import WIDE, page_faults
from tests.make.people import account
from tests.reproductions import make as reproduced

pytestmark = [pytest.mark.browser, pytest.mark.trial]


@pytest.mark.parametrize("width", [390, WIDE])
def test_pages_of_reproductions_are_for_everybody(
    width: int, browser: Browser, address: str, site_database: Database, tmp_path: Path
) -> None:
    """All of a task, one that is reproduced and one that is replicated, the run's page and the forms."""
    made = reproduced.linked(site_database, tmp_path)
    olga = account(site_database, "Olga", is_organiser=True)
    with site_database.write() as session:
        for task in session.scalars(select(Task.id)).all():
            session.add(TaskRole(task_id=task, account_id=olga, role="organiser"))
        token = sessions.start(session, olga, "127.0.0.1", "test")
    context = browser.new_context(viewport={"width": width, "height": 900}, bypass_csp=True)
    context.add_cookies([{"name": "session", "value": token, "url": address}])
    window, faults = context.new_page(), []
    for step in (
        *("/tasks/t/reproductions", f"/tasks/t/reproductions/{made.new_again}"),
        *(f"/tasks/u/reproductions/{made.new_there}", f"/runs/{made.new_again}/reproduces"),
        *(f"/runs/{made.new_again}", "/tasks/t/submit", "/tasks/t/settings"),
    ):
        answer = window.goto(f"{address}{step}")
        assert answer is not None
        assert answer.ok, step
        faults += [f"{step}: {fault}" for fault in page_faults(window, width)]
    context.close()
    assert faults == []
