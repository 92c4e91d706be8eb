"""What /metrics tells, to whom, and that it never names anything of the site."""

import logging
import re
from collections.abc import Mapping
from dataclasses import replace
from datetime import timedelta
from math import inf
from pathlib import Path

import pytest
from flask.testing import FlaskClient
from prometheus_client.parser import text_string_to_metric_families
from sqlalchemy import event, update

from leaderboard import logs
from leaderboard.application import create_app
from leaderboard.core.jobs import leases, queue
from leaderboard.db.engine import Database, now
from leaderboard.db.tables import Job, Mail
from leaderboard.logs import ROUTES, STATUSES, WebCounter
from leaderboard.settings import Settings
from leaderboard.site.ops import backups
from leaderboard.site.web.metrics import PROXIES_SAY
from leaderboard.web import session
from leaderboard.worker import Evaluator
from tests.make.servers import served
from tests.web.conftest import SignIn, Site, browser

TOKEN = "a-token-that-nobody-guesses"
ELSEWHERE = {"REMOTE_ADDR": "192.0.2.7"}
MOST_STATEMENTS = 10

Samples = dict[tuple[str, frozenset[tuple[str, str]]], float]


def _site(settings: Settings, database: Database, counter: WebCounter | None = None) -> FlaskClient:
    """A browser at an application that counts by itself, as every site does."""
    return browser(create_app(settings, database, counter=counter))


def _samples(client: FlaskClient, **headers: str) -> Samples:
    """What is told, by name and labels; read by Prometheus' own parser."""
    response = client.get("/metrics", headers=headers)
    assert response.status_code == 200
    assert response.headers["Content-Type"] == "text/plain; version=0.0.4; charset=utf-8"
    assert response.headers["Cache-Control"] == "no-store"
    return {
        (sample.name, frozenset(sample.labels.items())): sample.value
        for family in text_string_to_metric_families(response.text)
        for sample in family.samples
    }


def _one(samples: Samples, name: str, **labels: str) -> float:
    return samples[f"leaderboard_{name}", frozenset(labels.items())]


@pytest.mark.parametrize("name", [None, "Ann", "Olga"])
def test_who_has_no_token_is_told_nothing(
    settings: Settings, database: Database, sign_in: SignIn, name: str | None
) -> None:
    """Where one is set: neither this machine, nor an organiser, nor a wrong one, in whatever alphabet."""
    client = _site(replace(settings, metrics_token=TOKEN), database)
    if name is not None:
        sign_in(client, name, is_organiser=name == "Olga")
    for given in ("", TOKEN, f"Basic {TOKEN}", f"Bearer {TOKEN}x", "Bearer ", "Bearer \xe9"):
        response = client.get("/metrics", headers={"Authorization": given} if given else {})
        assert (response.status_code, response.headers["WWW-Authenticate"]) == (401, "Bearer realm=metrics")
        assert "leaderboard_" not in response.text
    assert _samples(client, Authorization=f"Bearer {TOKEN}")


@pytest.mark.parametrize("header", PROXIES_SAY)
def test_without_a_token_only_this_machine_itself_is_told(
    settings: Settings, database: Database, header: str
) -> None:
    """Not from elsewhere, and not through a proxy on this machine, from which everybody seems to come."""
    client = _site(settings, database)
    assert _samples(client)
    assert client.get("/metrics", environ_overrides=ELSEWHERE).status_code == 403
    assert client.get("/metrics", headers={header: "127.0.0.1"}).status_code == 403


@pytest.mark.parametrize("more", [{"public_url": "https://localhost"}, {"trusted_hosts": "localhost"}])
def test_a_public_site_without_a_token_tells_nobody(
    settings: Settings, database: Database, more: dict[str, str]
) -> None:
    """A proxy that adds no header cannot be told from this machine: so nobody is on it."""
    client = _site(replace(settings, **more), database)
    response = client.get("/metrics")
    assert response.status_code == 403
    assert "LEADERBOARD_METRICS_TOKEN" in response.text


def test_requests_are_counted_by_route_and_status(site: Site) -> None:
    """By the rule, never by what was asked for; HEAD counts as GET, and what leads nowhere as other."""
    client = _site(site.settings, site.database)
    run = site.world.run
    for path in (f"/runs/{run}", f"/runs/{run}", "/runs/999999", "/no/such/page", "/no/such/other"):
        client.get(path)
    client.head(f"/runs/{run}")
    told = _samples(client)
    route = {"method": "GET", "route": "/runs/<id:run_id>"}
    assert _one(told, "requests_total", **route, status="200") == 3
    assert _one(told, "requests_total", **route, status="404") == 1
    assert _one(told, "requests_total", method="other", route="other", status="404") == 2
    assert _one(told, "request_seconds_count", **route) == 4
    assert _one(told, "request_seconds_bucket", **route, le="+Inf") == 4
    assert 0 < _one(told, "request_seconds_sum", **route) < 3600
    assert _one(told, "kept_pages_total", found="none") == 2
    assert _one(told, "kept_pages_total", found="memory") == 2


@pytest.mark.trial
def test_labels_are_of_the_program_alone(site: Site) -> None:
    """After every kind of request each value of a label is a word of the code, so they are bounded."""
    client = _site(site.settings, site.database)
    for path in ("/", "/tasks/robots", f"/runs/{site.world.run}", f"/judge/{site.world.judge}", "/secret"):
        client.get(path)
    client.open("/", method="BREW")
    routes = {rule.rule for rule in client.application.url_map.iter_rules()} | {"other"}
    words = {
        "kind": set(queue_kinds()),
        "state": {"waits", "runs", "failed", "waiting", "retrying", "bounced"},
        "method": {"GET", "POST", "PUT", "PATCH", "DELETE", "other"},
        "route": routes,
        "status": {str(status) for status in STATUSES if status} | {"other"},
        "found": set(logs.FOUND),
        "le": {"0.05", "0.25", "1.0", "5.0", "+Inf"},
    }
    for name, labels in _samples(client):
        for key, value in labels:
            assert (name == "leaderboard_info" and key == "version") or value in words[key], (
                name,
                key,
                value,
            )


def queue_kinds() -> tuple[str, ...]:
    """The kinds of jobs."""
    return queue.CHECK, queue.EVALUATE, queue.COMPARE, queue.MAIL, queue.WEBHOOK, queue.MOVE


def test_every_route_has_its_place(site: Site) -> None:
    """Each method of each rule has a number of its own, and there is room for as many again."""
    counted: session.RequestCounts = site.app.extensions[session.COUNTS]
    assert sorted(counted.numbers.values()) == list(range(len(counted.numbers)))
    assert len(site.app.url_map._rules) < len(counted.numbers) * 2 < ROUTES * 2


def test_several_processes_are_added_up(settings: Settings, database: Database) -> None:
    """Whichever is asked, all of them are told of; a new process of the same number goes on counting."""
    shared = logs.counters(web_processes=2)
    first, second = (_site(settings, database, WebCounter(shared, number)) for number in range(2))
    for client, count in ((first, 2), (second, 3)):
        for _ in range(count):
            client.get("/measures")
    again = _site(settings, database, WebCounter(shared, 1))
    again.get("/measures")
    for client in (first, second, again):
        label = {"method": "GET", "route": "/measures", "status": "200"}
        assert _one(_samples(client), "requests_total", **label) == 6


@pytest.mark.dialect
def test_the_queue_is_told_by_kind_and_state(settings: Settings, database: Database) -> None:
    """What is due ages, what waits for its next attempt does not; 0 is told, so that alarms have a number."""
    client = _site(settings, database)
    with database.write() as session:
        for run_id in (1, 2):
            queue.enqueue(session, queue.EVALUATE, run_id, priority=queue.FRESH)
        at = now(session)
        late, later = at - timedelta(minutes=20), at + timedelta(seconds=30)
        session.execute(update(Job).where(Job.subject_id == 1).values(run_after=late))
        session.execute(update(Job).where(Job.subject_id == 2).values(run_after=later))
    told = _samples(client)
    assert _one(told, "jobs", kind="evaluate", state="waits") == 2
    assert 1200 <= _one(told, "jobs_oldest_seconds", kind="evaluate", state="waits") < 4800
    assert _one(told, "jobs", kind="mail", state="failed") == 0
    assert (_one(told, "evaluators"), _one(told, "database_up")) == (0, 1)
    with database.write() as session:
        job = queue.claim(session, "here:1", settings)
        assert job is not None
        queue.fail(session, job, "no", again=False)
    assert _one(_samples(client), "jobs", kind="evaluate", state="failed") == 1


@pytest.mark.dialect
def test_letters_and_the_backup_are_told(settings: Settings, database: Database, tmp_path: Path) -> None:
    """A letter that waits after a failure is told apart; a site without a backup has one of age +Inf."""
    client = _site(settings, database)
    with database.write() as session:
        at = now(session)
        for attempts, state in ((0, "waiting"), (3, "waiting"), (1, "failed")):
            letter = {
                "address": "a@example.org",
                "subject": "s",
                "body": "b",
                "created_at": at,
                "next_at": at,
            }
            session.add(Mail(**letter, attempts=attempts, state=state))
    told = _samples(client)
    assert [_one(told, "letters", state=state) for state in ("waiting", "retrying", "failed")] == [1, 1, 1]
    assert _one(told, "backup_age_seconds") == inf
    backups.back_up(database, tmp_path / "site.backup", verify=False)
    told = _samples(client)
    assert 0 <= _one(told, "backup_age_seconds") < 3600
    assert _one(told, "database_bytes") > 100_000
    assert _one(told, "disk_bytes") > _one(told, "disk_free_bytes") > 0
    assert (("leaderboard_wal_bytes", frozenset()) in told) is database.is_sqlite


@pytest.mark.dialect
def test_leases_that_were_lost_are_counted(settings: Settings, database: Database) -> None:
    """An evaluator that takes a job back from one that is gone says so, once."""
    shared = logs.counters(evaluators=2)
    evaluators = [
        Evaluator(database, settings, count_lost=lambda lost, n=number: logs.count_lost(shared, n, lost))
        for number in range(2)
    ]
    with database.write() as session:
        queue.enqueue(session, queue.EVALUATE, 1, priority=queue.FRESH)
        assert queue.claim(session, "elsewhere:1", settings) is not None
        session.execute(update(Job).values(lease_until=now(session) - timedelta(seconds=1)))
    for evaluator in evaluators:
        evaluator.sweep()
    with database.read() as session:
        assert leases.owners_on(session, "elsewhere") == []
    client = _site(settings, database, WebCounter(shared, 0))
    assert _one(_samples(client), "leases_lost_total") == 1


@pytest.mark.dialect
def test_few_statements_are_asked(site: Site, settings: Settings, database: Database) -> None:
    """Ten at most, on a filled site too."""
    for client, here in (
        (_site(settings, database), database),
        (_site(site.settings, site.database), site.database),
    ):
        asked: list[str] = []

        def note(_: object, __: object, statement: str, *more: object, into: list[str] = asked) -> None:
            into.append(statement)

        event.listen(here.engine, "before_cursor_execute", note)
        _samples(client)
        event.remove(here.engine, "before_cursor_execute", note)
        assert 5 < len(asked) <= MOST_STATEMENTS


def test_a_database_that_is_away_is_a_number(settings: Settings, caplog: pytest.LogCaptureFixture) -> None:
    """The rest is told all the same."""
    gone = Database("postgresql+psycopg://nobody@127.0.0.1:1/none")
    with caplog.at_level(logging.WARNING):
        told = _samples(_site(settings, gone))
    assert _one(told, "database_up") == 0
    assert _one(told, "disk_free_bytes") > 0
    assert "the database does not answer" in caplog.text
    gone.dispose()


def test_names_and_kinds_are_as_prometheus_wants_them(site: Site) -> None:
    """Each metric is told once, in letters, with what it means; counters end in total."""
    response = _site(site.settings, site.database).get("/metrics")
    kinds: Mapping[str, str] = dict(re.findall(r"^# TYPE (\S+) (\S+)$", response.text, re.MULTILINE))
    helped = re.findall(r"^# HELP (\S+) \S.*\.$", response.text, re.MULTILINE)
    assert list(kinds) == helped
    assert len(set(helped)) == len(helped) > 15
    for name, kind in kinds.items():
        assert re.fullmatch("leaderboard(_[a-z]+)+", name)
        assert name.endswith("_total") is (kind == "counter")


def test_a_proxy_is_seen_through_the_server_too(site: Site) -> None:
    """The server hands its headers on: visitors of a proxy that no setting names are told nothing."""
    app = create_app(site.settings, site.database)
    with served(app, site.settings) as running:
        assert running.status("/metrics") == 200
        for header in PROXIES_SAY:
            assert running.status("/metrics", headers={header: "192.0.2.7"}) == 403, header
