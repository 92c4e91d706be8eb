"""The pages of organisers, captains and operators are for everybody, with all that unfolds."""

from pathlib import Path

import pytest
from playwright.sync_api import Browser
from sqlalchemy import select, update

from leaderboard.accounts.ops import invitations, sessions
from leaderboard.accounts.ops.invitations import InvitationRequest
from leaderboard.core.jobs import health
from leaderboard.core.policy import Viewer
from leaderboard.db.engine import Database, now
from leaderboard.db.tables import Account, Mail, Member, Task, TaskRole
from leaderboard.runs.ops import batches
from leaderboard.runs.ops.prepare import BatchFile, BatchRequest, plan
from leaderboard.tasks.ops import announcements
from leaderboard.tasks.ops.announcements import AnnouncementBody
from tests.browser.conftest import follow
from tests.browser.test_accessibility import WIDE, page_faults
from tests.make import build, people, smtp, worlds
from tests.make.sites import application_thread

pytestmark = [pytest.mark.browser, pytest.mark.trial]
PAGES = (
    *("/tasks/robots/news", "/tasks/robots/announce?to=teams", "/tasks/robots/activity", "/account"),
    *("/tasks/robots/phases", "/tasks/robots/people", "/tasks/robots/members", "/tasks/robots/entries"),
    *("/tasks/robots/enter", "/tasks/robots/submit", "/tasks/robots/organise", "/runs/1/facts", "/batches/1"),
    *("/teams", "/teams/{team}", "/join/{invitation}"),
    *("/site", "/site/accounts", "/site/queue", "/site/storage", "/site/mail", "/site/audit"),
)
UNFOLD = "() => document.querySelectorAll('details').forEach(folded => { folded.open = true })"
DRAFT = AnnouncementBody("Deadline", "It *moves*.", announcements.EVERYBODY)


def _fill(database: Database, world: worlds.World, folder: Path) -> tuple[str, dict[str, str]]:
    """A site with failed work, letters and a batch; a session that may see it all, parts of addresses."""
    boss = people.account(database, "organiser", is_organiser=True)
    team = people.team(database, "Lynxes", boss)
    with database.write() as session:
        task = session.scalars(select(Task.id).where(Task.slug == "robots")).one()
        session.add(TaskRole(task_id=task, account_id=boss, role="organiser"))
        session.add(Member(team_id=team, account_id=world.nina, role="member", joined_at=now(session)))
        session.execute(update(Account).values(email="a@example.org", email_confirmed_at=now(session)))
        health.worker_seen(session, "host:1")
    asker = people.viewer(database, boss)
    with database.write() as session:
        made = announcements.preview(session, asker, "robots", DRAFT)
        announcements.send(session, asker, "robots", DRAFT, made.count, "http://localhost/")
        parts = {
            "team": str(team),
            "invitation": invitations.invite(session, asker, InvitationRequest(kind="team", team_id=team)),
        }
        session.execute(update(Mail).where(Mail.id == 1).values(state="failed", error="554 no " * 20))
        session.execute(update(Account).where(Account.name == "Anna").values(email_bounced_at=now(session)))
        token = sessions.start(session, boss, "127.0.0.1", "test")
    _send_batch(database, asker, team, folder)
    return token, parts


def _send_batch(database: Database, asker: Viewer, team: int, folder: Path) -> None:
    files = []
    for name, text in (("good", "1 Q0 d1 1 2 t\n"), ("bad", "1 Q0 d1 1 high t\n")):
        (folder / name).write_text(text)
        files.append(BatchFile(f"{name}.txt", folder / name))
    wished = BatchRequest(team=team, holds=True)
    planned = plan(files, wished)
    with database.write() as session:
        opened = batches.begin(session, asker, "robots", wished, planned, None)
    batches.receive(database, asker, "robots", opened, planned, None)
    build.drain(database)


def test_their_pages_are_for_everybody(browser: Browser, site_database: Database, tmp_path: Path) -> None:
    """No fault that axe knows in either scheme, and nothing scrolls sideways; a preview too."""
    data = tmp_path
    world = worlds.build(site_database, data)
    (token, parts), faults = _fill(site_database, world, tmp_path), []
    mail = {"smtp_url": "smtp://127.0.0.1:9", "mail_from": smtp.SENDER}
    with application_thread(site_database, data, **mail) as address:
        for width in (WIDE, 390):
            context = browser.new_context(viewport={"width": width, "height": 900}, bypass_csp=True)
            context.add_cookies([{"name": "session", "value": token, "url": address}])
            window = context.new_page()
            for page in PAGES:
                answer = window.goto(f"{address}{page.format_map(parts)}")
                assert answer is not None
                assert answer.status == 200, page
                window.evaluate(UNFOLD)
                faults += [f"{page}: {fault}" for fault in page_faults(window, width)]
            window.goto(f"{address}/tasks/robots/announce")
            window.get_by_label("Title").fill("Other news")
            follow(window.get_by_role("button", name="Preview announcement"))
            faults += [f"preview: {fault}" for fault in page_faults(window, width)]
            context.close()
    assert faults == []
