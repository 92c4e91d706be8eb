"""Deliveries: signed and sent at least once, tried again, given up, and never in the way of others."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import select, update
from standardwebhooks.webhooks import Webhook as Oracle

from leaderboard.core.jobs import queue
from leaderboard.core.policy import Viewer
from leaderboard.db.engine import Database, now
from leaderboard.db.tables import Account, Job, Mail, Webhook, WebhookAttempt, WebhookDelivery
from leaderboard.errors import Conflict, NotFound, OverQuota
from leaderboard.notify.ops import calls, deliveries, webhooks
from leaderboard.notify.ops.calls import WebhookAnswer
from leaderboard.settings import Settings
from leaderboard.worker import Evaluator
from tests.make import build, people, receivers
from tests.make.receivers import Receiver
from tests.notify import make as hooks

pytestmark = pytest.mark.dialect
SITE = "https://board.example"


@dataclass
class Cast:
    """A team with a webhook, where it leads, and an evaluator that may go there."""

    database: Database
    received: Receiver
    settings: Settings
    ann: int
    team_id: int
    webhook: int
    secret: str

    @property
    def viewer(self) -> Viewer:
        """The team's member."""
        return people.viewer(self.database, self.ann)

    def work(self) -> None:
        """Do all that is due."""
        Evaluator(self.database, self.settings).drain()

    def test(self) -> str:
        """Send a test event; its message."""
        with self.database.write() as session:
            return deliveries.send_test(session, self.viewer, self.webhook)

    def states(self) -> list[tuple[str, int]]:
        """State and attempts of every delivery."""
        with self.database.read() as session:
            rows = session.scalars(select(WebhookDelivery).order_by(WebhookDelivery.id))
            return [(row.state, row.attempts) for row in rows]

    def attempts(self) -> list[tuple[int | None, str]]:
        """Status and answer of every attempt."""
        with self.database.read() as session:
            rows = session.scalars(select(WebhookAttempt).order_by(WebhookAttempt.id))
            return [(row.status, row.said) for row in rows]

    def row(self) -> Webhook:
        """The webhook as it is stored."""
        with self.database.read() as session:
            return session.get_one(Webhook, self.webhook)

    def pauses(self) -> list[timedelta]:
        """How long each delivery waits from now."""
        with self.database.read() as session:
            at = now(session)
            return [row - at for row in session.scalars(select(WebhookDelivery.next_at))]


@pytest.fixture
def cast(database: Database) -> Iterator[Cast]:
    """Owls, whose webhook leads to this machine."""
    ann = people.account(database, "Ann")
    team_id = people.team(database, "Owls", ann)
    with receivers.receiver() as received:
        made = hooks.webhook(database, ann, team_id=team_id, address=received.address())
        settings = receivers.settings_of(public_url=SITE)
        yield Cast(database, received, settings, ann, team_id, made.id, made.secret)


def test_an_event_goes_out_signed_and_once(cast: Cast, tmp_path: Path) -> None:
    """The reference library takes it; it says ids and where to look; a second look sends nothing."""
    build.task(cast.database, tmp_path)
    run_id = build.run(cast.database, tmp_path, {"1": ["a"]}, "first", team_name="Owls")
    cast.work()
    hooks.make_due(cast.database)
    cast.work()
    told: list[dict[str, Any]] = [
        Oracle(cast.secret).verify(body, headers) for _, headers, body in cast.received.taken
    ]
    assert [one["type"] for one in told] == ["run.accepted", "run.scored"]
    assert told[0]["data"] == {"task": "t", "run": run_id, "upload": 1, "address": f"{SITE}/runs/{run_id}"}
    assert set(told[0]) == {"type", "timestamp", "data"}
    assert told[0]["timestamp"].endswith("Z")
    assert cast.states() == [("sent", 1), ("sent", 1)]
    assert cast.attempts() == [(204, ""), (204, "")]


def test_a_failure_is_tried_again_under_the_same_id(cast: Cast) -> None:
    """After about 5 seconds, with the same bytes and a signature of its own time."""
    message = cast.test()
    cast.received.answers = [(503, {}, b"later"), (302, {"Location": "/"}, b"")]
    for number in (1, 2, 3):
        cast.work()
        assert len(cast.received.taken) == number
        if number == 1:
            assert timedelta(seconds=3) < cast.pauses()[0] <= timedelta(seconds=5.5)
            cast.work()
        hooks.make_due(cast.database)
    assert {headers["webhook-id"] for _, headers, _ in cast.received.taken} == {message}
    assert len({body for _, _, body in cast.received.taken}) == 1
    assert cast.states() == [("sent", 3)]
    assert cast.attempts() == [(503, "later"), (302, ""), (204, "")]
    assert (cast.row().failures, cast.row().failing_since) == (0, None)


def test_it_is_given_up_after_ten_attempts(cast: Cast) -> None:
    """And paused after days of failures alone, which its owner is told by mail; what waits goes out later."""
    people.confirmed_address(cast.database, cast.ann, "ann@example.org")
    cast.test()
    cast.received.answers = [(500, {}, b"no")] * 11
    for attempt in range(1, 11):
        cast.work()
        assert cast.states() == [("failed" if attempt == 10 else "waiting", attempt)]
        hooks.make_due(cast.database)
    cast.work()
    assert len(cast.received.taken) == 10
    assert cast.row().paused_at is None
    long_ago = cast.row().created_at - deliveries.FAILING_FOR
    with cast.database.write() as session:
        session.execute(update(Webhook).values(failing_since=long_ago))
    cast.test()
    cast.work()
    assert cast.row().paused_why == "All deliveries failed for 3 days: no"
    with cast.database.read() as session:
        assert session.scalars(select(Mail.subject)).all() == ["Webhook paused"]
    hooks.make_due(cast.database)
    cast.work()
    assert len(cast.received.taken) == 11
    with cast.database.write() as session:
        webhooks.resume(session, cast.viewer, cast.webhook)
    cast.work()
    assert cast.states() == [("failed", 10), ("sent", 1)]


def test_gone_is_the_end(cast: Cast) -> None:
    """410 pauses the webhook at once; nothing can be sent by hand until it is resumed."""
    cast.received.answers = [(410, {}, b"")]
    message = cast.test()
    cast.work()
    assert cast.states() == [("failed", 1)]
    assert "410" in cast.row().paused_why
    with cast.database.write() as session:
        with pytest.raises(Conflict):
            deliveries.send_again(session, cast.viewer, cast.webhook, message)
        with pytest.raises(Conflict):
            deliveries.send_test(session, cast.viewer, cast.webhook)


def test_a_silent_address_is_asked_once_for_all_that_waits(cast: Cast) -> None:
    """The others are put off with the first, and all go out as soon as one is taken."""
    for _ in range(3):
        cast.test()
    cast.received.answers = [(500, {}, b"")]
    cast.work()
    assert len(cast.received.taken) == 1
    assert sorted(cast.states()) == [("waiting", 0), ("waiting", 0), ("waiting", 1)]
    with cast.database.write() as session:
        first = session.scalars(select(WebhookDelivery.id).where(WebhookDelivery.attempts == 1)).one()
        session.execute(
            update(WebhookDelivery).where(WebhookDelivery.id == first).values(next_at=now(session))
        )
    cast.work()
    cast.work()
    assert sorted(cast.states()) == [("sent", 1), ("sent", 1), ("sent", 2)]


def test_both_secrets_sign_while_one_takes_over(cast: Cast) -> None:
    """For a day the old one is good still; after it only the new one is."""
    with cast.database.write() as session:
        new = webhooks.rotate(session, cast.viewer, cast.webhook).secret
    assert new != cast.secret
    cast.test()
    cast.work()
    _, headers, body = cast.received.taken[-1]
    for secret in (cast.secret, new):
        Oracle(secret).verify(body, headers)
    with cast.database.write() as session:
        session.execute(update(Webhook).values(old_secret_until=now(session)))
    cast.test()
    cast.work()
    _, headers, body = cast.received.taken[-1]
    assert headers["webhook-signature"].count("v1,") == 1
    Oracle(new).verify(body, headers)


def test_a_private_network_needs_the_operators_yes(cast: Cast) -> None:
    """An evaluator that was told of no network connects nowhere, and says why."""
    cast.test()
    Evaluator(cast.database, Settings()).drain()
    assert cast.received.taken == []
    assert cast.attempts() == [(None, calls.NOT_SENT)]


def test_nothing_is_sent_where_it_is_turned_off(cast: Cast) -> None:
    """What waits stays, one delivery at a time goes out where it is on."""
    cast.test()
    cast.test()
    off = Evaluator(cast.database, receivers.settings_of(webhooks=False))
    assert (off.drain(), cast.received.taken) == (0, [])
    with cast.database.write() as session:
        assert queue.claim(session, "here:1", cast.settings) is not None
        assert queue.claim(session, "here:2", cast.settings) is None


def test_who_has_left_gets_nothing_that_waits(cast: Cast) -> None:
    """Written while its owner was in the team, sent to nobody once the account is closed."""
    cast.test()
    with cast.database.write() as session:
        session.execute(update(Account).values(disabled_at=now(session)))
    cast.work()
    hooks.make_due(cast.database)
    cast.work()
    assert (cast.received.taken, cast.states()) == ([], [("waiting", 0)])


def test_an_attempt_that_kills_its_evaluator_is_given_up(cast: Cast, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each try is counted before it is made, so that it ends some day."""

    def die(*_: object) -> None:
        raise RuntimeError

    monkeypatch.setattr("leaderboard.notify.ops.calls.post", die)
    cast.test()
    for _ in range(12):
        cast.work()
        hooks.make_due(cast.database)
        with cast.database.write() as session:
            session.execute(update(Job).values(run_after=now(session)))
    cast.work()
    assert cast.states() == [("failed", 10)]


def test_sent_again_by_a_button(cast: Cast) -> None:
    """Under the same id, whatever became of it; 30 times an hour, own ones only."""
    message = cast.test()
    cast.work()
    with cast.database.write() as session:
        deliveries.send_again(session, cast.viewer, cast.webhook, message)
    cast.work()
    assert [headers["webhook-id"] for _, headers, _ in cast.received.taken] == [message] * 2
    stranger = people.viewer(cast.database, people.account(cast.database, "Bob"))
    with cast.database.write() as session:
        with pytest.raises(NotFound):
            deliveries.send_again(session, cast.viewer, cast.webhook, "msg_nothing")
        with pytest.raises(NotFound):
            deliveries.send_again(session, stranger, cast.webhook, message)
        for _ in range(deliveries.BY_HAND_AN_HOUR - 2):
            deliveries.send_again(session, cast.viewer, cast.webhook, message)
        with pytest.raises(OverQuota):
            deliveries.send_again(session, cast.viewer, cast.webhook, message)


def test_a_deleted_webhook_leaves_jobs_that_do_nothing(cast: Cast) -> None:
    """Its deliveries go with it; SQLite gives their numbers again, and the new ones go out."""
    cast.test()
    with cast.database.write() as session:
        webhooks.delete(session, cast.viewer, cast.webhook)
    made = hooks.webhook(cast.database, cast.ann, team_id=cast.team_id, address=cast.received.address())
    cast.webhook = made.id
    cast.test()
    cast.work()
    cast.work()
    assert len(cast.received.taken) == 1
    assert json.loads(cast.received.taken[0][2])["type"] == "webhook.test"


def test_old_deliveries_are_dropped(cast: Cast) -> None:
    """After 30 days, with their attempts."""
    cast.test()
    cast.work()
    cast.test()
    with cast.database.write() as session:
        old = now(session) - deliveries.KEPT_FOR - timedelta(minutes=1)
        session.execute(update(WebhookDelivery).where(WebhookDelivery.state == "sent").values(created_at=old))
        deliveries.forget(session)
    assert (cast.states(), cast.attempts()) == ([("waiting", 0)], [])


def test_a_slow_attempt_leaves_less_time_for_the_next(cast: Cast) -> None:
    """15 seconds, 5 after one that took 5 or more, and 15 again after a quick one."""
    cast.test()
    patience = []
    for milliseconds in (5000, 4999, 0):
        hooks.make_due(cast.database)
        with cast.database.write() as session:
            request = deliveries.take(session, 1, SITE)
            assert request is not None
            patience.append(request.wait_s)
            deliveries.store(session, request, WebhookAnswer("refused", None, milliseconds, ""))
    assert patience == [15, 5, 15]


def test_an_account_has_so_many_deliveries_waiting(cast: Cast, monkeypatch: pytest.MonkeyPatch) -> None:
    """Then tests are refused, and events are listed as not sent; another account's are sent."""
    monkeypatch.setattr(webhooks, "MOST_WAITING", 3)
    message = cast.test()
    cast.test()
    cast.test()
    with pytest.raises(OverQuota, match="limit of .* waiting webhook deliveries") as refused:
        cast.test()
    assert "Try again when they are sent" in str(refused.value)
    with cast.database.write() as session:
        with pytest.raises(OverQuota):
            deliveries.send_again(session, cast.viewer, cast.webhook, message)
        webhooks.write_event(session, session.get_one(Webhook, cast.webhook), "run.scored", "/runs/1", {})
    bob = people.account(cast.database, "Bob")
    theirs = hooks.webhook(cast.database, bob, team_id=people.team(cast.database, "Bats", bob))
    with cast.database.write() as session:
        deliveries.send_test(session, people.viewer(cast.database, bob), theirs.id)
    assert cast.states() == [("waiting", 0)] * 3 + [("failed", 0), ("waiting", 0)]
    assert cast.attempts() == [(None, f"Not sent: {webhooks.FULL}")]
