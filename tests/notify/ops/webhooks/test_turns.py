"""Turns of accounts: whose listeners are slow holds up nobody else's deliveries."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest
from sqlalchemy import select, update

from leaderboard.core.jobs import carried, queue
from leaderboard.db.engine import Database, now
from leaderboard.db.tables import Job, Webhook, WebhookDelivery
from leaderboard.notify.ops import deliveries
from leaderboard.worker import Evaluator
from tests.make import people, receivers
from tests.notify import make as hooks

pytestmark = pytest.mark.dialect
SETTINGS = receivers.settings_of()
PATIENCE_S = 60
"""How long a busy machine may take for what is waited for."""


def _listeners(database: Database, name: str, teams: int, of_each: int, address: str = hooks.ADDRESS) -> None:
    """Webhooks of teams of a new account, each with a test event that waits."""
    account_id = people.account(database, name)
    for number in range(teams):
        team_id = people.team(database, f"{name} {number}", account_id)
        for _ in range(of_each):
            made = hooks.webhook(database, account_id, team_id=team_id, address=address)
            with database.write() as session:
                deliveries.send_test(session, people.viewer(database, account_id), made.id)


def _claims(database: Database, most: int) -> list[int]:
    """The accounts whose deliveries are claimed next, in turn."""
    claimed = []
    with database.write() as session:
        for _ in range(most):
            job = queue.claim(session, "here:1", SETTINGS)
            if job is not None:
                claimed.append(_owner(session.get_one(WebhookDelivery, job.subject_id).webhook_id, session))
    return claimed


def _owner(webhook_id: int, session: Any) -> int:
    return int(session.get_one(Webhook, webhook_id).account_id)


def test_accounts_take_turns(database: Database) -> None:
    """Of one account two are on their way at most, of all eight, however many wait and since when."""
    _listeners(database, "Ann", 4, 5)
    for name in ("Bob", "Cleo", "Dan", "Eve"):
        _listeners(database, name, 1, 2)
    assert _claims(database, 20) == [1, 2, 3, 4, 5, 1, 2, 3]
    with database.write() as session:
        session.execute(update(Job).where(Job.state == "leased").values(state="done"))
        # The accounts whose turn is longest ago come first.
        for account_id, ago in ((1, 1), (2, 5), (3, 3), (4, 4), (5, 2)):
            tried = update(Webhook).where(Webhook.account_id == account_id)
            session.execute(tried.values(tried_at=now(session) - timedelta(minutes=ago)))
    assert _claims(database, 20) == [4, 5, 1, 1]


def test_one_webhook_is_called_at_a_time(database: Database) -> None:
    """The second event of a webhook waits for the first."""
    _listeners(database, "Ann", 1, 1)
    with database.write() as session:
        deliveries.send_test(session, people.viewer(database, 1), 1)
    assert _claims(database, 5) == [1]


def test_a_broker_carries_deliveries_in_turn(database: Database) -> None:
    """Those that are sent to evaluators are the ones that they may claim."""
    _listeners(database, "Ann", 4, 5)
    _listeners(database, "Bob", 1, 1)
    with database.write() as session:
        sent = carried.take(session, SETTINGS)
        webhooks = [session.get_one(Job, job.job_id).subject_id for job in sent]
        assert [_owner(number, session) for number in webhooks] == [1, 2, 1]
        assert carried.take(session, SETTINGS) == []
        for job in sent:
            assert queue.claim(session, "here:1", SETTINGS, Job.id == job.job_id) is not None


class _Hanging(ThreadingHTTPServer):
    """Takes webhooks and answers none of them until it is let go."""

    daemon_threads = True

    def __init__(self) -> None:
        self.held = threading.Semaphore(0)
        self.let_go = threading.Event()
        server = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                server.held.release()
                server.let_go.wait(PATIENCE_S)
                self.close_connection = True

            def log_message(self, format: str, *args: Any) -> None:
                """Be quiet."""

        super().__init__(("127.0.0.1", 0), Handler)


@contextmanager
def _hanging() -> Iterator[_Hanging]:
    server = _Hanging()
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    try:
        yield server
    finally:
        server.let_go.set()
        server.shutdown()
        server.server_close()
        thread.join()


def test_slow_listeners_of_one_account_hold_up_nobody_else(database: Database) -> None:
    """20 that never answer and waited before: another account's event arrives while the first ones hang."""
    over, woken = threading.Event(), threading.Event()
    with receivers.receiver() as received, _hanging() as hanging:
        _listeners(database, "Ann", 4, 5, f"http://127.0.0.1:{hanging.server_address[1]}/")
        evaluator = Evaluator(database, SETTINGS)
        running = threading.Thread(target=evaluator.run, args=(over.is_set, lambda s: woken.wait(s / 20)))
        running.start()
        try:
            for _ in range(queue.WEBHOOKS_OF_ONE):
                assert hanging.held.acquire(timeout=PATIENCE_S)
            _listeners(database, "Bob", 1, 1, received.address())
            for _ in range(PATIENCE_S * 20):
                if received.taken:
                    break
                woken.wait(0.05)
            assert len(received.taken) == 1
            assert not hanging.let_go.is_set()
            with database.read() as session:
                tried = session.scalars(
                    select(WebhookDelivery.attempts).join(Webhook).where(Webhook.account_id == 1)
                )
                # Those that hang, and none of the others unless a busy machine let 15 seconds pass.
                assert sum(tried) >= queue.WEBHOOKS_OF_ONE
        finally:
            hanging.let_go.set()
            over.set()
            running.join()
