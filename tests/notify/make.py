"""Plain builders of webhooks for tests."""

import json
from collections import Counter
from collections.abc import Iterable
from typing import Any

import pytest
from sqlalchemy import delete, select, update

from leaderboard.core.jobs import queue
from leaderboard.db.engine import Database, now
from leaderboard.db.tables import Job, Webhook, WebhookAttempt, WebhookDelivery
from leaderboard.notify.ops import calls, webhooks
from leaderboard.notify.ops.webhooks import WebhookEvent, WebhookSecret
from tests.make import people
from tests.make.receivers import NETWORK

ADDRESS = "http://127.0.0.1:9/in"
"""Where nobody is, and where a site goes only if it is told that it may."""


def webhook(
    database: Database,
    account_id: int,
    *,
    slug: str = "",
    team_id: int = 0,
    address: str = ADDRESS,
    events: Iterable[str] = (),
) -> WebhookSecret:
    """A webhook of a task or a team, of all events that it may have."""
    asker = people.viewer(database, account_id)
    chosen = list(events) or list(WebhookEvent if slug else webhooks.OF_TEAMS)
    with database.write() as session:
        owner = webhooks.of_task(session, asker, slug) if slug else webhooks.of_team(asker, team_id)
        return webhooks.make(session, asker, owner, address, chosen, calls.networks(NETWORK))


def told(database: Database, webhook_id: int) -> list[tuple[str, dict[str, Any]]]:
    """What was written down for a webhook, in its order: events and their data."""
    with database.read() as session:
        rows = session.scalars(
            select(WebhookDelivery)
            .where(WebhookDelivery.webhook_id == webhook_id)
            .order_by(WebhookDelivery.id)
        )
        return [(row.event, {**json.loads(json.dumps(row.data)), "path": row.path}) for row in rows]


def settle(database: Database) -> None:
    """Let all that was written down be sent, by names in its order: what was told is to be compared alone."""
    with database.write() as session:
        session.execute(delete(WebhookAttempt))
        session.execute(update(Job).where(Job.kind == queue.WEBHOOK).values(state="done"))
        # How long a listener took depends on the machine's other work.
        same = {"secret": "whsec_AAAA", "took_ms": 0}
        session.execute(update(Webhook).values(failures=0, failing_since=None, **same))
        session.execute(update(WebhookDelivery).values(state="sent", attempts=1))
        counts: Counter[int] = Counter()
        for row in session.scalars(select(WebhookDelivery).order_by(WebhookDelivery.id)).all():
            counts[row.webhook_id] += 1
            row.message = f"msg_{row.webhook_id}_{counts[row.webhook_id]}"


def make_due(database: Database) -> None:
    """Let every delivery that waits be due."""
    with database.write() as session:
        session.execute(update(WebhookDelivery).values(next_at=now(session)))


def listen(database: Database, account_id: int, team_id: int) -> None:
    """A webhook of a team of two worlds."""
    webhook(database, account_id, team_id=team_id)


def leave_nothing_to_chance(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let secrets and names of deliveries be the same in two worlds."""
    monkeypatch.setattr(webhooks, "new_message", lambda: "msg_chance")
    monkeypatch.setattr(webhooks, "new_secret", lambda: "whsec_AAAA")
