"""Whether the site says truly that it works, and to whom it says more."""

import os
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import closing
from datetime import timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from flask.testing import FlaskClient
from sqlalchemy import delete, update

from leaderboard.core.jobs import health, queue
from leaderboard.db.engine import Database, now
from leaderboard.db.tables import Job, Worker
from leaderboard.settings import Settings
from leaderboard.site.web.health import NO_ROOM
from leaderboard.web import rules
from leaderboard.web.session import EXTENSION
from tests.make.apps import application
from tests.web.conftest import SignIn, Site, browser

pytestmark = pytest.mark.dialect

ELSEWHERE = {"REMOTE_ADDR": "192.0.2.7"}
LONG = timedelta(minutes=5)
PATIENCE_S = 180
"""How long a busy machine may take for what is waited for."""


def _ask(client: FlaskClient, **environ: str) -> tuple[int, dict[str, Any]]:
    response = client.get("/healthz", environ_overrides=environ)
    assert response.json is not None
    assert response.headers["Cache-Control"] == "no-store"
    assert ("Retry-After" in response.headers) is (response.status_code == 503)
    return response.status_code, response.json


def _queue(database: Database, ago: timedelta = timedelta()) -> None:
    with database.write() as session:
        queue.enqueue(session, queue.EVALUATE, 1, priority=queue.FRESH)
        session.execute(update(Job).values(run_after=now(session) - ago))


def _see_worker(database: Database, ago: timedelta = timedelta()) -> None:
    with database.write() as session:
        session.execute(delete(Worker))
        session.add(Worker(owner="here:1", seen_at=now(session) - ago))


def test_the_queue_is_counted_on_this_machine(site: Site) -> None:
    """A client of the same machine learns what waits and who works."""
    assert _ask(site.browser()) == (
        200,
        {
            "status": "ok",
            "queued": 0,
            "running": 0,
            "failed": 1,
            "oldest_queued_s": None,
            "left": 0,
            "workers": 0,
            "worker_seen_s": None,
            "backup_age_s": None,
        },
    )


def test_from_elsewhere_only_organisers_see_counts(client: FlaskClient, sign_in: SignIn) -> None:
    """The counts would show how busy a sealed task is."""
    assert _ask(client, **ELSEWHERE) == (200, {"status": "ok"})
    sign_in(client, "Ann")
    assert _ask(client, **ELSEWHERE) == (200, {"status": "ok"})
    sign_in(client, "Olga", is_organiser=True)
    assert _ask(client, **ELSEWHERE)[1]["queued"] == 0


def test_work_that_nobody_looks_for_is_503(database: Database, client: FlaskClient) -> None:
    """Due for over a minute and no evaluator seen: the reason is said to everybody, the counts are not."""
    _queue(database, LONG)
    status, said = _ask(client, **ELSEWHERE)
    assert (status, said["status"], set(said)) == (503, "unavailable", {"status", "reason"})
    assert "no evaluator has polled the queue recently" in said["reason"]
    assert _ask(client)[1]["queued"] == 1
    _see_worker(database, LONG)
    assert _ask(client)[0] == 503
    _see_worker(database)
    assert _ask(client)[0] == 200


def test_work_that_waits_for_its_next_attempt_is_no_trouble(database: Database, client: FlaskClient) -> None:
    """Neither is what was queued a moment ago."""
    _queue(database)
    assert _ask(client)[0] == 200
    with database.write() as session:
        session.execute(update(Job).values(run_after=now(session) + timedelta(seconds=15)))
    assert _ask(client) == (
        200,
        {
            "status": "ok",
            "queued": 1,
            "running": 0,
            "failed": 0,
            "oldest_queued_s": None,
            "left": 0,
            "workers": 0,
            "worker_seen_s": None,
            "backup_age_s": None,
        },
    )


def test_a_clock_that_was_set_back_hides_no_trouble(database: Database, client: FlaskClient) -> None:
    """Jobs and evaluators from the future are as old as any."""
    _queue(database, -2 * timedelta(hours=1))
    _see_worker(database, -2 * timedelta(hours=1))
    assert _ask(client)[0] == 503
    with database.write() as session:
        health.worker_seen(session, "here:1")
    assert _ask(client)[0] == 200


def test_a_database_that_is_away_is_said(client: FlaskClient, sign_in: SignIn, settings: Settings) -> None:
    """Signed in or not: 503 with the reason, as JSON."""
    gone = Database("postgresql+psycopg://nobody@127.0.0.1:1/none")
    client = browser(application(settings, gone))
    reason = {"status": "unavailable", "reason": "The database does not answer."}
    assert _ask(client) == (503, reason)
    client.set_cookie("session", "x")
    assert _ask(client, **ELSEWHERE) == (503, reason)
    gone.dispose()


def test_a_held_write_lock_is_said_with_an_empty_queue(
    client: FlaskClient, database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A submission would wait for nothing; the answer is kept for a while, and tried anew after it."""
    if not database.is_sqlite:
        pytest.skip("PostgreSQL has no lock of a whole database")
    monkeypatch.setattr(health, "PROBE_WAIT_S", 0.01)
    monkeypatch.setattr(health, "PROBED_FOR_S", 0.0)
    _see_worker(database)
    assert _ask(client)[0] == 200
    with closing(sqlite3.connect(database.engine.url.database or "")) as other:
        other.execute("BEGIN IMMEDIATE")
        assert _ask(client, **ELSEWHERE) == (503, {"status": "unavailable", "reason": health.LOCKED})
        monkeypatch.setattr(health, "PROBED_FOR_S", 3600.0)
        assert _ask(client)[0] == 503
        other.rollback()
    assert _ask(client)[1]["reason"] == health.LOCKED
    probe = client.application.extensions[EXTENSION].probe
    probe._until = 0.0
    assert _ask(client)[0] == 200


def test_too_little_room_is_said(
    client: FlaskClient, database: Database, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With less than what is kept free no file is taken; how much there is is not said."""
    _see_worker(database)
    monkeypatch.setattr(rules.shutil, "disk_usage", lambda _: SimpleNamespace(free=settings.free_bytes - 1))
    assert _ask(client, **ELSEWHERE) == (503, {"status": "unavailable", "reason": NO_ROOM})


def test_no_evaluator_is_trouble_with_an_empty_queue_too(database: Database, client: FlaskClient) -> None:
    """One that was seen and is gone at once, none at all a minute after the start; one of two is enough."""
    probe = client.application.extensions[EXTENSION].probe
    assert _ask(client)[0] == 200
    probe._began -= 61
    assert _ask(client)[1]["reason"] == "No evaluator has polled the queue in the last minute."
    probe._began += 61
    _see_worker(database, timedelta(seconds=61))
    assert _ask(client)[0] == 503
    with database.write() as session:
        health.worker_seen(session, "here:2")
    assert _ask(client)[0] == 200


def test_work_that_nobody_takes_over_is_trouble(database: Database, client: FlaskClient) -> None:
    """Evaluators look for work and yet leave what another held for over a minute after its lease."""
    _queue(database)
    _see_worker(database)
    with database.write() as session:
        assert queue.claim(session, "here:9", Settings()) is not None
    assert _ask(client)[0] == 200
    with database.write() as session:
        session.execute(update(Job).values(lease_until=now(session) - timedelta(seconds=61)))
    status, said = _ask(client)
    assert (status, said["left"]) == (503, 1)
    assert said["reason"] == "No evaluator takes over the jobs of one that has stopped."


@pytest.mark.trial
@pytest.mark.sqlite
def test_an_evaluator_that_is_frozen_or_stopped_is_trouble(
    client: FlaskClient, database: Database, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A real one: 503 while it stands still, 200 once it goes on, 503 once it is gone; the queue is empty."""
    monkeypatch.setattr(health, "LATELY", timedelta(seconds=4))
    command = [str(Path(sys.executable).with_name("leaderboard")), "worker", "--data", str(settings.data)]
    environ = os.environ | {"LEADERBOARD_DATABASE_URL": settings.url}
    with subprocess.Popen(command, env=environ, stdout=subprocess.DEVNULL) as evaluator:
        try:
            _wait_for(client, 200, lambda: _ask(client)[1]["workers"] == 1)
            for number, status in ((signal.SIGSTOP, 503), (signal.SIGCONT, 200), (signal.SIGTERM, 503)):
                evaluator.send_signal(number)
                _wait_for(client, status)
        finally:
            evaluator.kill()


def _wait_for(client: FlaskClient, status: int, also: Callable[[], bool] = lambda: True) -> None:
    until = time.monotonic() + PATIENCE_S
    while _ask(client)[0] != status or not also():
        assert time.monotonic() < until, f"it is not {status}"
        time.sleep(0.1)
