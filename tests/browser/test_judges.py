"""Pages of judges in a browser: axe finds nothing, nothing scrolls sideways, in both colour schemes."""

from pathlib import Path

import pytest
from playwright.sync_api import Browser
from sqlalchemy import select

from leaderboard.accounts.ops import sessions
from leaderboard.db.engine import Database
from leaderboard.db.tables import Task, TaskRole
from leaderboard.runs.ops.limits import RunRequest
from tests.browser.test_accessibility import WIDE, page_faults
from tests.judges import make as judging
from tests.judges import of_judges
from tests.make import build
from tests.make.people import account

pytestmark = [pytest.mark.browser, pytest.mark.trial]
PAGES = (
    *("/tasks/judged/judges", "/tasks/judged/judges/1", "/tasks/judged/judges/1/topics/1"),
    *("/tasks/judged", "/tasks/judged/revisions", "/tasks/judged/submit", "/measures/BoardTau"),
)


LABELS = (
    *("/tasks/held/judges/8", "/tasks/held/judges/8/labels", "/tasks/held/judges/8/labels?documents=either"),
    *("/tasks/held/judges/8/labels/1", "/tasks/heard/judges/10/labels", "/tasks/heard/judges/10/labels/1"),
    *("/tasks/heard/judges/11/labels", "/tasks/heard/judges/11/labels?all"),
    *("/tasks/heard/judges", "/tasks/said"),
    *("/tasks/heard/judges/11/labels?part=support", "/tasks/heard/judges/11/labels/1?part=support"),
)


@pytest.mark.parametrize("width", [390, WIDE])
def test_pages_of_labels_are_for_everybody(
    width: int, browser: Browser, address: str, site_database: Database, tmp_path: Path
) -> None:
    """A judge's labels of documents and of answers, by topic too, as a visitor sees them after the close."""
    account(site_database, "Olga", is_organiser=True)
    of_judges.build(site_database, tmp_path, organiser="Olga")
    context = browser.new_context(viewport={"width": width, "height": 900}, bypass_csp=True)
    window, faults = context.new_page(), []
    for step in LABELS:
        answer = window.goto(f"{address}{step}")
        assert answer is not None
        assert answer.ok, step
        faults += [f"{step}: {fault}" for fault in page_faults(window, width)]
    context.close()
    assert faults == []


@pytest.mark.parametrize("width", [390, WIDE])
def test_pages_of_judges_are_for_everybody(
    width: int, browser: Browser, address: str, site_database: Database, tmp_path: Path
) -> None:
    """The judges' board, a judge that is circular, a topic, and what such a task has of other pages."""
    judging.task(site_database, tmp_path)
    judging.refer(site_database, tmp_path)
    judging.judge(site_database, tmp_path, run_request=RunRequest("oak", facts={"llm": "gpt-5"}))
    judging.judge(site_database, tmp_path, judging.ELM, "elm", team_name="Other")
    build.drain(site_database)
    olga = account(site_database, "Olga", is_organiser=True)
    with site_database.write() as session:
        task = session.scalars(select(Task.id)).one()
        session.add(TaskRole(task_id=task, account_id=olga, role="organiser"))
        token = sessions.start(session, olga, "127.0.0.1", "test")
    context = browser.new_context(viewport={"width": width, "height": 900}, bypass_csp=True)
    context.add_cookies([{"name": "session", "value": token, "url": address}])
    window, faults = context.new_page(), []
    for step in PAGES:
        answer = window.goto(f"{address}{step}")
        assert answer is not None
        assert answer.ok, step
        faults += [f"{step}: {fault}" for fault in page_faults(window, width)]
    context.close()
    assert faults == []
