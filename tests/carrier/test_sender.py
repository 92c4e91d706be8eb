"""What sends the numbers of jobs: small messages, and patience with a broker that is away."""

import logging
import threading
from collections.abc import Iterator

import pytest
from sqlalchemy import select

from leaderboard.core.jobs import queue
from leaderboard.db.engine import Database
from leaderboard.db.tables import Job
from leaderboard.settings import Settings
from tests.make.sites import free_port

pytest.importorskip("celery", reason="the extra celery is not installed")

from leaderboard.carrier import messages, sender
from leaderboard.carrier.messages import FRESH, REST
from leaderboard.carrier.sender import Sender
from tests.make.messages import BROKER, numbers, taken, throw_away

SETTINGS = Settings(broker_url=BROKER)
PATIENCE = 3600
"""Looks at what is waited for."""
POLL_S = 0.05


@pytest.fixture(autouse=True)
def _empty_broker() -> Iterator[None]:
    throw_away()
    yield
    throw_away()


def _queue(database: Database, *subjects: int, priority: int = queue.FRESH) -> None:
    with database.write() as session:
        for subject in subjects:
            queue.enqueue(session, queue.EVALUATE, subject, priority=priority)


def _unsent(database: Database) -> list[int]:
    with database.read() as session:
        return list(session.scalars(select(Job.id).where(Job.carried_at.is_(None)).order_by(Job.id)))


def test_a_message_says_the_number_of_a_job_and_nothing_else(database: Database) -> None:
    """As JSON, to the queue of its urgency, once."""
    _queue(database, 7, priority=queue.AGAIN)
    _queue(database, 8)
    sending = Sender(database, SETTINGS)
    assert sending.send()
    assert sending.send()
    [fresh], [other] = taken(FRESH), taken(REST)
    assert (fresh["type"], fresh["body"][:2], other["body"][:2]) == ("application/json", [[2], {}], [[1], {}])
    assert not any(fresh["body"][2].values())


def test_a_broker_that_is_away_is_logged_once_and_jobs_wait(
    database: Database, caplog: pytest.LogCaptureFixture
) -> None:
    """Nothing is marked as sent, and no password is in the log."""
    _queue(database, 1)
    sending = Sender(database, Settings(broker_url=f"redis://:hidden@127.0.0.1:{free_port()}/0"))
    with caplog.at_level(logging.WARNING):
        assert not sending.send()
        assert len(caplog.records) == 1
        assert not sending.send()
    assert [record.message.split(";")[0] for record in caplog.records] == [
        "jobs cannot be sent to the broker"
    ]
    assert "hidden" not in caplog.text
    assert _unsent(database) == [1]


def test_jobs_are_sent_when_the_broker_is_back(
    database: Database, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """At once, as they are still unmarked; a line of the log says so."""
    _queue(database, 1)
    sending, opened = Sender(database, SETTINGS), messages.opened

    def refuse(app: object) -> None:
        raise ConnectionRefusedError("Connection refused")

    monkeypatch.setattr(messages, "opened", refuse)
    assert not sending.send()
    monkeypatch.setattr(messages, "opened", opened)
    caplog.clear()
    with caplog.at_level(logging.WARNING):
        assert sending.send()
    assert (numbers(FRESH), _unsent(database)) == ([1], [])
    assert [record.message for record in caplog.records] == ["jobs are sent to the broker again"]


def test_a_line_that_was_lost_while_nothing_was_sent_costs_no_time(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another one is opened, and all of them go out by it."""
    sending = Sender(database, SETTINGS)
    assert sending.send()
    _queue(database, 1, 2)
    send, lines = messages.Line.send, []

    def lost_at_first(line: messages.Line, jobs: list[object]) -> None:
        lines.append(line)
        if len(lines) == 1:
            raise ConnectionResetError("Connection reset by peer")
        send(line, jobs)  # type: ignore[arg-type]

    monkeypatch.setattr(messages.Line, "send", lost_at_first)
    assert sending.send()
    assert (numbers(FRESH), lines[0] is lines[1]) == ([1, 2], False)


def test_the_thread_sends_when_it_is_woken_and_ends(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is queued goes out without waiting for its next look, which here never comes."""
    monkeypatch.setattr(sender, "LOOK_S", 10_000.0)
    pause, found = threading.Event(), list[int]()
    with sender.sending(database, SETTINGS) as wake:
        _queue(database, 1)
        wake()
        for _ in range(PATIENCE):
            if found := numbers(FRESH):
                break
            pause.wait(POLL_S)
    assert found == [1]
    assert "carrier" not in [thread.name for thread in threading.enumerate()]


def test_the_thread_looks_by_itself(database: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    """For what other processes queued."""
    monkeypatch.setattr(sender, "LOOK_S", 0.01)
    pause, found = threading.Event(), list[int]()
    with sender.sending(database, SETTINGS):
        _queue(database, 1)
        for _ in range(PATIENCE):
            if found := numbers(FRESH):
                break
            pause.wait(POLL_S)
    assert found == [1]
