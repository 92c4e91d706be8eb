"""The pages of operators: work, storage, mail and the audit log."""

from dataclasses import dataclass, replace
from pathlib import Path

import pytest
from flask.testing import FlaskClient
from sqlalchemy import select, update

from leaderboard.core.jobs import health
from leaderboard.core.policy import OPERATOR
from leaderboard.db.engine import Database, now
from leaderboard.db.tables import Account, Job, Mail
from leaderboard.settings import Settings
from leaderboard.site import page as site
from tests.make import pages, smtp, worlds
from tests.make.apps import application
from tests.make.worlds import World
from tests.web.conftest import browser, enter

pytestmark = pytest.mark.dialect


@dataclass(frozen=True)
class Desk:
    """A filled site with mail, and its operator's browser."""

    database: Database
    settings: Settings
    world: World
    client: FlaskClient

    def without_mail(self) -> FlaskClient:
        """The operator's browser where the site sends none."""
        client = browser(application(replace(self.settings, smtp_url=""), self.database))
        enter(self.database, client, "organiser")
        return client


@pytest.fixture
def desk(settings: Settings, database: Database, tmp_path: Path) -> Desk:
    """A site whose operator is an organiser account named `organiser`."""
    world = worlds.build(database, tmp_path)
    here = smtp.settings_of("smtp://127.0.0.1:9", data=tmp_path, database_url=settings.database_url)
    client = browser(application(here, database))
    enter(database, client, "organiser", is_organiser=True)
    return Desk(database, here, world, client)


def test_the_queue_shows_failed_work_and_does_it_again(desk: Desk) -> None:
    """Jobs by kind and state, evaluators that were seen, and a button that queues a failed job, on record."""
    with desk.database.write() as session:
        health.worker_seen(session, "host:1")
    page = desk.client.get("/site/queue")
    assert [row[:3] for row in pages.table(page, "Open jobs")] == [["run scoring", "failed", "1"]]
    (failed,) = pages.table(page, "Failed jobs")
    assert failed[1:] == ["run scoring", str(desk.world.run), "0", "It broke."]
    assert pages.table(page, "Evaluators")[0][0] == "host:1"
    assert desk.client.post(f"/site/queue/{desk.world.job}").status_code == 303
    assert desk.client.post(f"/site/queue/{desk.world.job}").status_code == 404
    with desk.database.read() as session:
        assert session.get_one(Job, desk.world.job).state == "queued"
    assert desk.client.get("/site/queue.json").get_json()["failed"] == []
    found = desk.client.get("/site/audit.json?action=job.retry").get_json()["audit"]
    assert [(row["account"], row["subject"]) for row in found] == [("organiser", f"job:{desk.world.job}")]


def test_storage_says_what_takes_room(desk: Desk) -> None:
    """Every table has a kind, the kinds add up to less than the database, and the backup's age is told."""
    facts = desk.client.get("/site/storage.json").get_json()
    assert 0 < sum(row["bytes"] for row in facts["kinds"]) <= facts["bytes"]
    assert {row["table"] for row in facts["tables"]} >= {"run", "upload_chunk", "audit", "mail"}
    assert "runs and uploads" in {row["kind"] for row in facts["kinds"]}
    assert {
        row["kind"] for row in facts["tables"] if row["table"] not in ("alembic_version", "sqlite_schema")
    } <= set(site.KINDS.values())
    assert (facts["backup_age_s"], facts["free_bytes"] > 0) == (None, True)
    assert "none yet" in pages.main(desk.client.get("/site/storage"))


def test_mail_that_failed_is_tried_again(desk: Desk) -> None:
    """Letters by state without what they say, bounced addresses, and a button for one letter or all."""
    with desk.database.write() as session:
        for name in ("Anna", "Berta", "Carl"):
            account = session.scalars(select(Account.id).where(Account.name == name)).one()
            session.execute(
                update(Account)
                .where(Account.id == account)
                .values(email=f"{name}@example.org", email_confirmed_at=now(session))
            )
            letter = {"address": f"{name}@example.org", "subject": "A secret", "body": "A secret"}
            dates = dict.fromkeys(("created_at", "next_at"), now(session))
            session.add(Mail(account_id=account, state="waiting", **letter, **dates))
        session.execute(update(Mail).where(Mail.id < 3).values(state="failed", error="554 no"))
        session.execute(update(Mail).where(Mail.id == 3).values(state="bounced"))
        session.execute(update(Account).where(Account.name == "Carl").values(email_bounced_at=now(session)))
    page = desk.client.get("/site/mail")
    assert "secret" not in page.text
    assert "1 bounced, 2 failed" in pages.main(page)
    assert [row[0] for row in pages.table(page, "Bounced addresses")] == ["Carl"]
    assert desk.client.post("/site/mail", data={"letter": "1"}).status_code == 303
    assert desk.client.post("/site/mail", data={"letter": "1"}).status_code == 404
    assert desk.client.post("/site/mail", data={"letter": "x"}).status_code == 404
    assert desk.client.post("/site/mail").status_code == 303
    with desk.database.read() as session:
        assert session.scalars(select(Mail.state).order_by(Mail.id)).all() == [
            "waiting",
            "waiting",
            "bounced",
        ]
    client = desk.without_mail()
    assert (client.get("/site/mail").status_code, client.post("/site/mail").status_code) == (404, 404)
    for address in ("/site", "/site/queue", "/site/storage", "/site/audit"):
        assert "/site/mail" not in client.get(address).text
        assert "/site/mail" in desk.client.get(address).text


def test_the_record_is_searched_by_account_act_subject_and_day(desk: Desk) -> None:
    """Each field narrows what is found; a wrong one is said on the page; files have all of it."""

    def found(query: str) -> list[dict[str, str]]:
        rows: list[dict[str, str]] = desk.client.get(f"/site/audit.json?{query}").get_json()["audit"]
        return rows

    everything = found("")
    assert [row["id"] for row in everything] == sorted((row["id"] for row in everything), reverse=True)
    assert {row["action"] for row in found("action=team")} == {"team.create", "team.invite", "team.join"}
    assert {row["account"] for row in found("account=anna&action=run")} == {"Anna"}
    assert {row["subject"] for row in found(f"subject=run:{desk.world.run}")} == {f"run:{desk.world.run}"}
    today = everything[0]["at"][:10]
    assert found(f"from={today}&to={today}") == everything
    assert found("to=2020-01-01") == found("from=2090-01-01") == []
    assert "action" in desk.client.get("/site/audit.csv?action=team").text.splitlines()[0]
    for query, status in (("account=nobody", 404), ("from=yesterday", 422), ("before=x", 200)):
        assert desk.client.get(f"/site/audit?{query}").status_code == status, query


def test_the_record_is_shown_a_page_at_a_time(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    """Links lead from the newest act to the oldest, keep the search and miss none; a file may be too long."""
    monkeypatch.setattr(site, "A_PAGE", 4)
    with desk.database.read() as session:
        found = site.whole_audit(session, OPERATOR, site.AuditSearch(action="team"))
    seen: list[int] = []
    address: str | None = "/site/audit?action=team"
    while address:
        page = desk.client.get(address)
        seen += [int(row[0]) for row in pages.table(page, "Audit log")]
        link = pages.parsed(page).find("a", string="Older")
        address = str(link["href"]) if link else None  # type: ignore[index]
    assert seen == [row.id for row in found.rows]
    assert len(seen) > 4
    monkeypatch.setattr(site, "MOST_EXPORTED", 3)
    assert desk.client.get("/site/audit.csv").status_code == 422
