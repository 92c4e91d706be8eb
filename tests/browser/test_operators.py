"""The pages of organisers and operators about work, mail and news are for everybody."""

from pathlib import Path

import pytest
from playwright.sync_api import Browser
from sqlalchemy import select, update

from leaderboard.db.engine import Database, now
from leaderboard.db.tables import Account, Mail, Task, TaskRole
from leaderboard.services.accounts import sessions
from leaderboard.services.jobs import workers
from leaderboard.services.tasks import announcements
from leaderboard.services.tasks.announcements import AnnouncementDraft
from tests.browser.test_accessibility import WIDE, page_faults
from tests.make import people, smtp, worlds
from tests.make.sites import application_thread

pytestmark = pytest.mark.browser
PAGES = (
    *("/tasks/robots/news", "/tasks/robots/announce?to=teams", "/tasks/robots/activity", "/account"),
    *("/site", "/site/queue", "/site/storage", "/site/mail", "/site/audit"),
)
DRAFT = AnnouncementDraft("Deadline", "It *moves*.", announcements.EVERYBODY)


def _fill(database: Database, data: str) -> str:
    """A site with failed work, letters and an announcement; the session of somebody who may see it all."""
    boss = people.account(database, "organiser", is_organiser=True)
    with database.write() as session:
        task = session.scalars(select(Task.id).where(Task.slug == "robots")).one()
        session.add(TaskRole(task_id=task, account_id=boss, role="organiser"))
        session.execute(update(Account).values(email="a@example.org", email_confirmed_at=now(session)))
        workers.seen(session, "host:1")
    asker = people.viewer(database, boss)
    with database.write() as session:
        made = announcements.preview(session, asker, "robots", DRAFT)
        announcements.send(session, asker, "robots", DRAFT, made.count, data)
        session.execute(update(Mail).where(Mail.id == 1).values(state="failed", error="554 no " * 20))
        session.execute(update(Account).where(Account.name == "Anna").values(email_bounced_at=now(session)))
        return sessions.start(session, boss, "127.0.0.1", "test")


def test_their_pages_are_for_everybody(browser: Browser, site_database: Database, tmp_path: Path) -> None:
    """No fault that axe knows in either scheme, and nothing scrolls sideways; a preview too."""
    data = tmp_path
    worlds.build(site_database, data)
    token, faults = _fill(site_database, "http://localhost/"), []
    mail = {"smtp_url": "smtp://127.0.0.1:9", "mail_from": smtp.SENDER}
    with application_thread(site_database, data, **mail) as address:
        for width in (WIDE, 390):
            context = browser.new_context(viewport={"width": width, "height": 900}, bypass_csp=True)
            context.add_cookies([{"name": "session", "value": token, "url": address}])
            window = context.new_page()
            for page in PAGES:
                answer = window.goto(f"{address}{page}")
                assert answer is not None
                assert answer.status == 200, page
                faults += [f"{page}: {fault}" for fault in page_faults(window, width)]
            window.goto(f"{address}/tasks/robots/announce")
            window.get_by_label("Title").fill("Other news")
            window.get_by_role("button", name="See it").click()
            faults += [f"preview: {fault}" for fault in page_faults(window, width)]
            context.close()
    assert faults == []
