"""Webhooks in a browser: made, tried out, sent again, rotated, paused, deleted; nobody sees others'."""

import re
from dataclasses import replace

from flask.testing import FlaskClient
from sqlalchemy import select
from standardwebhooks.webhooks import Webhook as Oracle
from werkzeug.test import TestResponse

from leaderboard.db.engine import now
from leaderboard.db.tables import (
    Account,
    Announcement,
    Audit,
    Edition,
    Phase,
    Task,
    Upload,
    Webhook,
    WebhookDelivery,
)
from leaderboard.notify.ops import webhooks
from leaderboard.notify.ops.webhooks import MOST, WebhookEvent
from leaderboard.worker import Evaluator
from tests.make import pages, receivers
from tests.make.apps import application
from tests.notify import make as hooks
from tests.web.conftest import Site, browser, enter

TASK = "/tasks/robots/webhooks"


def _browser(site: Site, name: str) -> FlaskClient:
    """A browser of a site that lets webhooks go to this machine."""
    client = browser(application(replace(site.settings, webhook_networks=receivers.NETWORK), site.database))
    enter(site.database, client, name)
    return client


def _secret(answer: TestResponse) -> str:
    assert answer.status_code == 201
    return str(pages.parsed(answer).find("input", {"id": "secret"})["value"])  # type: ignore[index]


def _make(client: FlaskClient, path: str, address: str, *chosen: str) -> TestResponse:
    return client.post(path, data={"address": address, "events": list(chosen)})


def test_from_the_form_to_a_delivery_that_is_sent_again(site: Site) -> None:
    """The secret is shown once; each attempt is listed with its status, time and answer."""
    olga = _browser(site, "Olga")
    with receivers.receiver() as received:
        secret = _secret(_make(olga, TASK, received.address(), "run.accepted", "job.failed"))
        assert secret not in olga.get(TASK).text
        assert pages.table(olga.get(TASK), "Webhooks") == [
            [received.address(), "active", "run.accepted, job.failed", "Olga"]
        ]
        received.answers = [(500, {}, b"<script>alert(1)</script>\x00")]
        assert olga.post("/webhooks/1/test").headers["Location"] == "/webhooks/1"
        Evaluator(site.database, receivers.settings_of(public_url="https://board.example")).drain()
        shown = olga.get("/webhooks/1")
        (row,) = pages.table(shown, "Deliveries of the last 30 days")
        assert row[0] == "webhook.test"
        assert row[2].startswith("waiting, due")
        assert re.search(r": 500, \d+ ms, “<script>alert\(1\)</script>”", row[3])
        form = pages.parsed(shown).select_one("form[action*='/deliveries/']")
        assert form is not None
        assert olga.post(str(form["action"])).status_code == 303
        Evaluator(site.database, receivers.settings_of(public_url="https://board.example")).drain()
        (row,) = pages.table(olga.get("/webhooks/1"), "Deliveries of the last 30 days")
        assert row[2] == "sent"
        _, headers, body = received.taken[-1]
    told = Oracle(secret).verify(body, headers)
    assert told["data"] == {"address": "https://board.example/webhooks/1"}


def test_what_cannot_be_is_said_and_typed_words_stay(site: Site) -> None:
    """An address of a private network, events that are none or not a team's, the sixth webhook."""
    olga, anna = site.browser("Olga"), site.browser("Anna")
    team = f"/teams/{site.world.owls}/webhooks"
    cases = (
        (olga, TASK, "http://example.org/", ["run.accepted"], "must begin with https"),
        (olga, TASK, "https://192.168.0.1/", ["run.accepted"], "private network"),
        (olga, TASK, "https://example.org/", [], "at least one"),
        (olga, TASK, "https://example.org/", ["nothing"], "not 'nothing'"),
        (anna, team, "https://example.org/", ["job.failed"], "not 'job.failed'"),
    )
    for client, path, address, chosen, said in cases:
        refused = _make(client, path, address, *chosen)
        assert refused.status_code == 422
        assert said in pages.parsed(refused).get_text()
        assert pages.parsed(refused).find("input", {"id": "webhook-address"})["value"] == address  # type: ignore[index]
    for _ in range(MOST):
        _secret(_make(anna, team, "https://example.org/", "run.scored"))
    assert _make(anna, team, "https://example.org/", "run.scored").status_code == 429
    assert "job.failed" not in anna.get(team).text


def test_a_site_may_have_none(site: Site) -> None:
    """Where they are turned off none is made; those that there are can be read and deleted."""
    client = browser(application(replace(site.settings, webhooks=False), site.database))
    enter(site.database, client, "Olga")
    refused = _make(client, TASK, "https://example.org/", "run.scored")
    assert (refused.status_code, "Webhooks are turned off" in pages.main(refused)) == (409, True)
    hooks.webhook(site.database, site.world.olga, slug="robots")
    assert client.get("/webhooks/1").status_code == 200
    assert client.post("/webhooks/1/delete").status_code == 303


def test_a_webhook_of_others_is_none(site: Site) -> None:
    """To members of other teams and organisers of other tasks every address of it is as of no webhook."""
    _secret(
        _make(site.browser("Anna"), f"/teams/{site.world.owls}/webhooks", "https://a.example/", "run.scored")
    )
    _secret(_make(site.browser("Olga"), TASK, "https://b.example/", "run.scored"))
    with site.database.write() as session:
        for webhook in session.scalars(select(Webhook)).all():
            webhooks.write_event(session, webhook, "run.scored", "/", {})
        messages = session.scalars(select(WebhookDelivery.message).order_by(WebhookDelivery.id)).all()
    acts = ("pause", "resume", "test", "secret", "delete")
    before = _stored(site)
    for name, theirs in (
        ("Carl", (1, 2)),
        ("Otto", (1, 2)),
        ("Olga", (1,)),
        ("Berta", (2,)),
        ("Nina", (1, 2)),
    ):
        client = site.browser(name)
        for number in theirs:
            posts = [*acts, f"deliveries/{messages[number - 1]}"]
            answers = [client.get(f"/webhooks/{number}", headers={"Accept": "application/json"})]
            answers += [client.post(f"/webhooks/{number}/{act}") for act in posts]
            assert {answer.status_code for answer in answers} == {404}, (name, number)
            none = client.get("/webhooks/999", headers={"Accept": "application/json"}).text
            assert answers[0].text == none.replace("999", str(number))
    assert _stored(site) == before
    mixed = site.browser("Olga").post(f"/webhooks/2/deliveries/{messages[0]}")
    assert mixed.status_code == 404


def _stored(site: Site) -> list[tuple[object, ...]]:
    with site.database.read() as session:
        rows = session.scalars(select(Webhook).order_by(Webhook.id))
        return [(row.id, row.address, row.secret, row.paused_at, row.account_id) for row in rows]


def test_rotated_paused_resumed_deleted(site: Site) -> None:
    """Each on record, without address or secret; another member takes over what somebody left behind."""
    anna, berta = site.browser("Anna"), site.browser("Berta")
    team = f"/teams/{site.world.owls}/webhooks"
    first = _secret(_make(anna, team, "https://hooks.example/T0K3N", "run.scored"))
    second = _secret(anna.post("/webhooks/1/secret"))
    assert first != second
    anna.post("/webhooks/1", data={"paused": "yes"})
    assert "paused manually" in anna.get(team).text
    assert anna.post("/webhooks/1/test").status_code == 409
    with site.database.write() as session:
        session.get_one(Account, site.world.anna).disabled_at = now(session)
        session.get_one(Webhook, 1).paused_at = None
    assert "Anna has left" in berta.get("/webhooks/1").text
    assert berta.post("/webhooks/1").status_code == 303
    assert pages.table(berta.get(team), "Webhooks")[0][1::2] == ["active", "Berta"]
    assert berta.post("/webhooks/1/delete").headers["Location"] == team
    assert "No webhooks yet" in berta.get(team).text
    with site.database.read() as session:
        acts = session.scalars(select(Audit).where(Audit.action.startswith("webhook.")).order_by(Audit.id))
        kept = [(act.action, act.detail) for act in acts]
    assert [action for action, _ in kept] == [
        f"webhook.{act}" for act in ("make", "rotate", "pause", "resume", "delete")
    ]
    assert "T0K3N" not in str(kept)
    assert "whsec_" not in str(kept)


def test_operators_see_hosts_and_may_pause(site: Site) -> None:
    """Neither whose it is nor what stands behind the host; the pause is said to its owners."""
    _secret(_make(site.browser("Olga"), TASK, "https://hooks.example/T0K3N", "run.scored"))
    client = site.browser()
    enter(site.database, client, "organiser", is_organiser=True)
    shown = client.get("/site/webhooks")
    assert pages.table(shown, "Webhooks of this site")[0][:3] == ["1", "a task", "hooks.example"]
    assert "T0K3N" not in shown.text
    assert client.post("/site/webhooks/1/stop").status_code == 303
    assert client.post("/site/webhooks/9/stop").status_code == 404
    assert "The operator of this site paused it" in site.browser("Olga").get("/webhooks/1").text


def test_every_path_that_is_told_is_a_page(site: Site) -> None:
    """What each event says where to look is a page that its owner may open."""
    number = hooks.webhook(site.database, site.world.olga, slug="robots").id
    with site.database.write() as session:
        task = session.scalars(select(Task).where(Task.slug == "robots")).one()
        uploads = [session.get_one(Upload, one) for one in (site.world.accepted, site.world.rejected)]
        edition = session.scalars(select(Edition).where(Edition.task_id == task.id)).one()
        told = Announcement(
            task_id=task.id,
            title="News",
            body="",
            recipients={"kind": "everybody"},
            count=0,
            created_at=now(session),
        )
        session.add(told)
        session.flush()
        webhooks.upload_decided(session, task, uploads[0], site.world.run)
        webhooks.upload_decided(session, task, uploads[1], None)
        webhooks.run_scored(session, site.world.run, edition.id)
        webhooks.edition_shown(session, edition)
        webhooks.dates_changed(
            session, task, session.scalars(select(Phase).where(Phase.task_id == task.id)).one()
        )
        webhooks.announced(session, task, told, ())
        webhooks.job_failed(session, site.world.job)
    written = hooks.told(site.database, number)
    assert [event for event, _ in written] == list(WebhookEvent)
    client = site.browser("Olga")
    for event, facts in written:
        assert client.get(facts["path"]).status_code == 200, event
