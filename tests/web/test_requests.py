"""What a request leaves behind: its number, a line in the log, a row in the audit."""

import json
import logging
from collections.abc import Iterator
from dataclasses import replace

import pytest
from flask import Flask
from flask.testing import FlaskClient
from sqlalchemy import func, select
from sqlalchemy.exc import OperationalError

from leaderboard import logs
from leaderboard.core import audit
from leaderboard.db.engine import Database
from leaderboard.db.tables import Audit, Throttle
from leaderboard.judging.page.assessors import judging
from tests.make.apps import application
from tests.make.people import PASSWORD
from tests.web.conftest import Site, browser

QRELS = "/tasks/robots/revisions/1/qrels.txt"


@pytest.fixture
def lines(caplog: pytest.LogCaptureFixture) -> Iterator[list[dict[str, object]]]:
    """What the access log says, one event after the other."""
    found: list[dict[str, object]] = []

    class Keeping(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            found.append(json.loads(logs.JsonLines().format(record)))

    handler, logger = Keeping(), logging.getLogger("leaderboard.web.session")
    with caplog.at_level(logging.INFO, logger.name):
        logger.addHandler(handler)
        yield found
        logger.removeHandler(handler)


def _rows(database: Database, action: str) -> list[tuple[int | None, str]]:
    with database.read() as session:
        wanted = select(Audit.account_id, Audit.subject).where(Audit.action == action).order_by(Audit.id)
        return [(account_id, subject) for account_id, subject in session.execute(wanted)]


def test_every_answer_has_a_number_of_its_own(site: Site) -> None:
    """Pages, files, redirects and errors carry X-Request-ID, each another one."""
    addresses = ("/", "/tasks.json", "/account", "/nothing", "/static/app.css", "/tasks/a%00b")
    numbers = [site.browser().get(address, buffered=True).headers["X-Request-ID"] for address in addresses]
    assert len({number for number in numbers if number}) == len(addresses)


def test_a_line_says_who_asked_for_what(site: Site, lines: list[dict[str, object]]) -> None:
    """Method, path, status, time, account and address of every request, under its number."""
    number = site.browser("Berta").get("/teams?a=b").headers["X-Request-ID"]
    site.browser().get("/static/app.css", buffered=True)
    [line] = lines
    assert (line["request"], line["account"], line["ip"]) == (number, site.world.berta, "127.0.0.1")
    assert (line["method"], line["path"], line["status"]) == ("GET", "/teams", 200)
    assert isinstance(line["ms"], float)


def test_the_line_can_be_left_out(site: Site, lines: list[dict[str, object]]) -> None:
    """With access_log off there is none; the number stays."""
    app = application(replace(site.settings, access_log=False), site.database)
    assert "X-Request-ID" in browser(app).get("/").headers
    assert lines == []


@pytest.mark.trial
def test_no_address_with_a_secret_is_logged(site: Site, lines: list[dict[str, object]]) -> None:
    """Every route that has a token is logged without it, whatever becomes of the request."""
    routes = [rule for rule in site.app.url_map.iter_rules() if "token" in rule.arguments]
    assert len(routes) > 10
    for rule in routes:
        values = {name: "1" for name in rule.arguments}
        built = rule.build({**values, "token": "SECRET", "slug": "robots", "form": "json"})
        assert built is not None
        for address in (
            built[1],
            built[1].replace("/SECRET", "//SECRET"),
            f"{built[1]}/more",
            f"{built[1]}%0aFAKE",
        ):
            site.browser("Olga").open(address, method="POST")
            site.browser().get(address)
    assert len(lines) >= 8 * len(routes)
    assert [line["path"] for line in lines if "SECRET" in json.dumps(line)] == []


def test_a_failure_is_logged_in_one_piece_without_the_token(
    site: Site, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What fails for an address with a line break and a token gives a record with neither."""
    monkeypatch.setattr(judging, "desk", lambda *_: 1 / 0)
    with caplog.at_level(logging.ERROR):
        response = site.browser().get("/judge/SECRET%0a2026-11-22%20ERROR%20forged")
    record = caplog.records[-1]
    assert (response.status_code, response.headers["X-Request-ID"] in response.text) == (500, True)
    written = logs.TextLines().format(record)
    assert "SECRET" not in written
    assert [line for line in written.splitlines() if "forged" in line or not line.startswith("    | ")] == [
        written.splitlines()[0]
    ]
    assert response.headers["X-Request-ID"] in written


def test_refusals_of_accounts_are_recorded_once_an_hour(site: Site) -> None:
    """A burst of 403 to one account is one row a route; visitors leave none."""
    client = site.browser("Nina")
    for _ in range(5):
        for path in ("/tasks/robots/organise", "/tasks/new"):
            assert client.get(path, buffered=True).status_code == 403
    visitor = browser(site.app)
    visitor.environ_base["HTTP_SEC_FETCH_SITE"] = "cross-site"
    assert visitor.post("/teams", buffered=True).status_code == 403
    assert _rows(site.database, "request.refuse") == [
        (site.world.nina, "route:organise.show"),
        (site.world.nina, "route:organise.new"),
    ]


def test_throttled_visitors_are_recorded(app: Flask, client: FlaskClient, database: Database) -> None:
    """A hit of a throttle is on record, of visitors too, once an hour and network."""
    data = {"name": "Nobody", "password": "wrong"}
    assert [client.post("/sign-in", data=data, buffered=True).status_code for _ in range(13)][-1] == 429
    assert _rows(database, "request.throttle") == [(None, "route:accounts.sign_in_now")]
    assert _rows(database, "account.sign_in_failed") == [(None, "account:unknown")]


def test_who_takes_judgments_is_recorded(site: Site) -> None:
    """The first download of a file by an account in an hour is a row, written once the file was sent."""
    client = site.browser("Berta")
    response = client.get(QRELS)
    assert _rows(site.database, "qrels.download") == []
    response.close()
    row = (site.world.berta, f"address:{QRELS}")
    assert _rows(site.database, "qrels.download") == [row]
    tag = response.headers["ETag"]
    assert client.get(QRELS, headers={"If-None-Match": tag}, buffered=True).status_code == 304
    for method in ("GET", "HEAD"):
        client.open(QRELS, method=method, buffered=True)
    site.browser().get(QRELS, buffered=True)
    assert _rows(site.database, "qrels.download") == [row, (None, row[1])]


def test_a_burst_does_not_fill_the_audit(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    """Beyond so many rows an hour of all accounts and networks there is one that says so."""
    monkeypatch.setattr(audit, "NOTICES_AN_HOUR", 3)
    with site.database.write() as session:
        before = session.scalar(select(func.count(Audit.id))) or 0
        for number in range(20):
            audit.notice(session, replace(_visitor(), ip=f"192.0.2.{number}"), "request.throttle", "route:x")
    with site.database.read() as session:
        actions = session.scalars(select(Audit.action).order_by(Audit.id)).all()[before:]
        assert audit.verify(session).broken_at is None
    assert actions == [*["request.throttle"] * 3, "audit.full"]


def _visitor() -> audit.Viewer:
    return audit.Viewer()


def test_a_database_in_trouble_does_not_take_the_file_away(
    site: Site, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """What cannot be recorded is in the log; the file was sent."""

    def away(*_: object, **__: object) -> None:
        raise OperationalError("INSERT", {}, Exception("database is locked"))

    monkeypatch.setattr(audit, "notice", away)
    response = site.browser("Berta").get(QRELS, buffered=True)
    assert response.text.startswith("1 0 d1 2")
    assert "could not be recorded" in caplog.text


@pytest.mark.dialect
def test_acts_are_recorded_on_both_databases(client: FlaskClient, database: Database) -> None:
    """A sign-up, a throttled form and their counts are stored by SQLite and PostgreSQL alike."""
    client.post("/sign-up", data={"name": "Anna", "password": PASSWORD}, buffered=True)
    for _ in range(12):
        client.post("/sign-in", data={"name": "Anna", "password": "wrong"}, buffered=True)
    with database.read() as session:
        actions = session.scalars(select(Audit.action).order_by(Audit.id)).all()
        assert session.scalars(select(Throttle.key).where(Throttle.key.startswith("audit "))).all()
    assert actions == [*("account.create", "account.sign_in", "account.sign_in_failed"), "request.throttle"]
