"""Webhooks as their owners see them, and all of a site's as its operators do."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Annotated

from sqlalchemy import ColumnElement, func, select
from sqlalchemy.orm import Session

from leaderboard.core import policy
from leaderboard.core.policy import Viewer
from leaderboard.db.tables import Account, Task, Team, Webhook, WebhookAttempt, WebhookDelivery
from leaderboard.notify.ops import webhooks
from leaderboard.notify.ops.webhooks import MEANINGS, OF_TEAMS, WebhookOwner
from leaderboard.tables.record import Column, Shown, Table, columns_from
from leaderboard.zones import Moment

MOST_DELIVERIES = 100
"""Deliveries listed per webhook, newest first."""
ACTIVE, PAUSED, LEFT = "active", "paused", "stopped"


@dataclass(frozen=True, slots=True, kw_only=True)
class WebhookRow:
    """One webhook; why gives the reason if it is not notified, else empty."""

    webhook: int
    address: str
    events: tuple[str, ...]
    state: str
    why: str
    made_by: str
    failing_since: Moment | None
    created_at: Moment


@dataclass(frozen=True, slots=True, kw_only=True)
class WebhooksPage:
    """The webhooks of a task, which slug names, or of a team; choices: event and meaning."""

    name: str
    slug: str
    team_id: int | None
    webhooks: tuple[WebhookRow, ...]
    choices: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class DeliveryRow:
    """One event that was written down for a webhook."""

    message: str
    event: str
    path: str
    state: str
    attempts: tuple[WebhookAttempt, ...]
    created_at: datetime
    next_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class WebhookPage:
    """One webhook with its newest deliveries."""

    name: str
    slug: str
    team_id: int | None
    webhook: WebhookRow
    deliveries: tuple[DeliveryRow, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class SiteWebhookRow:
    """A webhook as shown to operators, without its owner's name and the path of its address."""

    id: Annotated[int, Shown(key="webhook")]
    owner: Annotated[str, Shown(key="of")]
    host: Annotated[str, Shown("Leads to")]
    state: str
    waiting: int
    failing_since: datetime | None


def task_webhooks(session: Session, viewer: Viewer, slug: str) -> WebhooksPage:
    """The webhooks of a task, for its organisers; raises NotFound, SignInNeeded or Forbidden."""
    return _page(session, webhooks.of_task(session, viewer, slug))


def team_webhooks(session: Session, viewer: Viewer, team_id: int) -> WebhooksPage:
    """The webhooks of a team, for its members; raises SignInNeeded or NotFound."""
    return _page(session, webhooks.of_team(viewer, team_id))


def webhook_page(session: Session, viewer: Viewer, webhook_id: int) -> WebhookPage:
    """One webhook, for its owners; raises SignInNeeded, or NotFound for others as if it did not exist."""
    policy.require_account(viewer)
    row = session.get(Webhook, webhook_id)
    if row is None or not webhooks.is_owner(viewer, row):
        raise webhooks.not_found(webhook_id)
    page = _page(session, WebhookOwner(row.task_id, row.team_id), Webhook.id == webhook_id)
    return WebhookPage(
        name=page.name,
        slug=page.slug,
        team_id=page.team_id,
        webhook=page.webhooks[0],
        deliveries=_deliveries(session, webhook_id),
    )


def site_webhooks(session: Session, viewer: Viewer) -> tuple[SiteWebhookRow, ...]:
    """All webhooks of the site, those that fail first; for operators."""
    policy.require_operator(viewer)
    waiting = select(WebhookDelivery.webhook_id, func.count()).where(WebhookDelivery.state == "waiting")
    counts = dict(session.execute(waiting.group_by(WebhookDelivery.webhook_id)).all())
    query = select(Webhook, Account.name, webhooks.is_answered_for()).join(
        Account, Account.id == Webhook.account_id
    )
    rows = [_row(*values) for values in session.execute(query.order_by(Webhook.id))]
    of_teams = set(session.scalars(select(Webhook.id).where(Webhook.team_id.is_not(None))))
    listed = (
        SiteWebhookRow(
            id=row.webhook,
            owner="a team" if row.webhook in of_teams else "a task",
            host=webhooks.host_of(row.address),
            state=row.state,
            waiting=counts.get(row.webhook, 0),
            failing_since=row.failing_since,
        )
        for row in rows
    )
    return tuple(sorted(listed, key=lambda row: (row.failing_since is None, row.id)))


def _page(session: Session, owner: WebhookOwner, *which: ColumnElement[bool]) -> WebhooksPage:
    query = (
        select(Webhook, Account.name, webhooks.is_answered_for())
        .join(Account, Account.id == Webhook.account_id)
        .where(webhooks.owned_by(owner), *which)
    )
    task = session.get(Task, owner.task_id) if owner.task_id is not None else None
    team = session.get(Team, owner.team_id) if owner.team_id is not None else None
    events = OF_TEAMS if task is None else MEANINGS
    return WebhooksPage(
        name=task.name if task is not None else team.name if team is not None else "",
        slug=task.slug if task is not None else "",
        team_id=owner.team_id,
        webhooks=tuple(_row(*values) for values in session.execute(query.order_by(Webhook.id))),
        choices=tuple((event, MEANINGS[event]) for event in events),
    )


def _row(webhook: Webhook, name: str, is_answered_for: bool) -> WebhookRow:
    why = webhook.paused_why
    state = PAUSED if webhook.paused_at is not None else ACTIVE
    if state == ACTIVE and not is_answered_for:
        state, why = LEFT, f"{name} has left; resume the webhook to take it over."
    return WebhookRow(
        webhook=webhook.id,
        address=webhook.address,
        events=tuple(webhook.events),
        made_by=name,
        state=state,
        why=why,
        failing_since=webhook.failing_since,
        created_at=webhook.created_at,
    )


def _deliveries(session: Session, webhook_id: int) -> tuple[DeliveryRow, ...]:
    newest = select(WebhookDelivery).where(WebhookDelivery.webhook_id == webhook_id)
    rows = session.scalars(newest.order_by(WebhookDelivery.id.desc()).limit(MOST_DELIVERIES)).all()
    tried: dict[int, list[WebhookAttempt]] = defaultdict(list)
    attempts = select(WebhookAttempt).where(WebhookAttempt.delivery_id.in_([row.id for row in rows]))
    for attempt in session.scalars(attempts.order_by(WebhookAttempt.id)):
        tried[attempt.delivery_id].append(attempt)
    return tuple(
        DeliveryRow(
            message=row.message,
            event=row.event,
            path=row.path,
            state=row.state,
            attempts=tuple(tried[row.id]),
            created_at=row.created_at,
            next_at=row.next_at,
        )
        for row in rows
    )


def webhook_table(rows: Sequence[WebhookRow]) -> Table[WebhookRow]:
    """Webhooks in order of creation."""
    columns: list[Column[WebhookRow]] = [
        Column("address", lambda row: row.address, "Address"),
        Column("state", lambda row: row.state, "State"),
        Column("events", lambda row: ", ".join(row.events), "Events"),
        Column("made_by", lambda row: row.made_by, "Created by"),
    ]
    return Table("webhooks", "Webhooks", columns, rows)


def delivery_table(page: WebhookPage) -> Table[DeliveryRow]:
    """Deliveries, the newest first."""
    columns: list[Column[DeliveryRow]] = [
        Column("event", lambda row: row.event, "Event"),
        Column("at", lambda row: row.created_at.isoformat(), "When"),
        Column("state", lambda row: row.state, "State"),
        Column("attempts", lambda row: len(row.attempts), "Attempts"),
        Column("again", lambda row: row.message, "Redeliver"),
    ]
    caption = f"Deliveries of the last 30 days, newest first, at most {MOST_DELIVERIES}"
    return Table("deliveries", caption, columns, page.deliveries)


def site_table(rows: Sequence[SiteWebhookRow]) -> Table[SiteWebhookRow]:
    """All webhooks of a site."""
    columns = columns_from(
        SiteWebhookRow, "id owner host state waiting", Column("failing", _failing, "Failing since")
    )
    caption = "Webhooks of this site, failing ones first"
    return Table("webhooks", caption, columns, rows)


def _failing(row: SiteWebhookRow) -> str | None:
    return row.failing_since.isoformat(timespec="seconds") if row.failing_since is not None else None
