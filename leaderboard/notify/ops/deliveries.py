"""Deliveries to webhooks: sent by jobs, at least once, under the same id each time, tried again, given up.

If an evaluator dies between the response and recording it, the delivery is sent again; receivers drop
what they know by its id.
"""

import json
import random
from datetime import datetime, timedelta
from functools import partial
from typing import Any

from sqlalchemy import ColumnElement, delete, select, update
from sqlalchemy.orm import Session

from leaderboard.core import audit, throttles
from leaderboard.core.actions import Action, by_account
from leaderboard.core.events import MailDraft
from leaderboard.core.jobs import queue
from leaderboard.core.jobs.queue import FAILED, WAITING
from leaderboard.core.policy import Scope, Viewer
from leaderboard.db.engine import now
from leaderboard.db.tables import Webhook, WebhookAttempt, WebhookDelivery
from leaderboard.errors import Conflict, NotFound, OverQuota
from leaderboard.notify.ops import calls, mail, webhooks
from leaderboard.notify.ops.calls import GONE, TAKEN, WebhookAnswer, WebhookRequest
from leaderboard.notify.ops.webhooks import NewWebhook, WebhookChange, is_answered_for
from leaderboard.settings import Settings

SENT = "sent"
PAUSES = (
    timedelta(seconds=5),
    timedelta(minutes=5),
    timedelta(minutes=30),
    *(timedelta(hours=hours) for hours in (2, 5, 10, 14, 20, 24)),
)
"""After each attempt except the last; source: Standard Webhooks 1.0.0, "Deliverability and reliability"."""
LONGEST_PAUSE = PAUSES[-1] * 1.2
JITTER = 0.1
WHILE_TRIED = timedelta(minutes=2)
FAILING_FOR = timedelta(days=3)
"""Duration of failing deliveries after which a webhook is paused."""
KEPT_FOR = timedelta(days=30)
BY_HAND_AN_HOUR = 30
"""Deliveries of one webhook that are made or sent again by a button."""


def queue_due(session: Session) -> None:
    """Queue the deliveries that are to be tried again, of webhooks that are not paused."""
    running = select(Webhook.id).where(Webhook.paused_at.is_(None), is_answered_for())
    which = WebhookDelivery.webhook_id.in_(running)
    queue.queue_due(session, queue.WEBHOOK, WebhookDelivery, LONGEST_PAUSE, which)


def take(session: Session, delivery_id: int, site: str) -> WebhookRequest | None:
    """The request to send now, counted as an attempt; None if there is nothing to do.

    That is: it was sent or put off, or its webhook is paused, gone, or without an owner. site is the
    address that paths are under.
    """
    of = select(WebhookDelivery.webhook_id).where(WebhookDelivery.id == delivery_id).scalar_subquery()
    running = select(Webhook).where(Webhook.id == of, Webhook.paused_at.is_(None), is_answered_for())
    # Lock the webhook before its delivery, in the same order as the buttons on its page.
    webhook = session.scalar(running.with_for_update(of=Webhook))
    row = session.get(WebhookDelivery, delivery_id, with_for_update=True, populate_existing=True)
    at = now(session)
    if webhook is None or row is None or row.state != WAITING:
        return None
    if not queue.work_is_due(row.next_at, at, LONGEST_PAUSE):
        return None
    if row.attempts > len(PAUSES):
        row.state = FAILED
        return None
    # Counted and postponed before the attempt, so that one that kills its evaluator does so only a few times.
    row.attempts += 1
    row.next_at = at + WHILE_TRIED
    webhook.tried_at = at
    body = _body(row, site)
    return WebhookRequest(
        webhook_id=webhook.id,
        delivery_id=row.id,
        page=f"{site}/webhooks/{webhook.id}",
        address=webhook.address,
        headers=webhooks.headers(row.message, at, body, _signing(webhook, at)),
        body=body,
        wait_s=calls.SLOW_WAIT_S if _is_slow(webhook) else calls.WAIT_S,
    )


def _is_slow(webhook: Webhook) -> bool:
    return webhook.took_ms is not None and webhook.took_ms >= calls.SLOW_WAIT_S * 1000


def _body(row: WebhookDelivery, site: str) -> bytes:
    """The same bytes in each attempt."""
    payload = {
        "type": row.event,
        "timestamp": row.created_at.isoformat(timespec="milliseconds").replace("+00:00", "Z"),
        "data": {**row.data, "address": f"{site}{row.path}"},
    }
    return json.dumps(payload, separators=(",", ":")).encode()


def _signing(webhook: Webhook, at: datetime) -> tuple[str, ...]:
    until = webhook.old_secret_until
    return (webhook.secret, webhook.old_secret) if until is not None and at < until else (webhook.secret,)


def store(session: Session, request: WebhookRequest, answer: WebhookAnswer) -> None:
    """Note what became of an attempt; where it failed, the webhook's other deliveries are put off too."""
    # Lock the webhook before its delivery, in the same order as the buttons on its page.
    webhook = session.get(Webhook, request.webhook_id, with_for_update=True, populate_existing=True)
    row = session.get(WebhookDelivery, request.delivery_id, with_for_update=True, populate_existing=True)
    if webhook is None or row is None:
        return
    at = now(session)
    webhook.took_ms = answer.milliseconds
    session.add(
        WebhookAttempt(
            delivery_id=row.id,
            at=at,
            status=answer.status,
            milliseconds=answer.milliseconds,
            said=answer.text,
        )
    )
    if row.state != WAITING:
        return
    if answer.state == TAKEN:
        _taken(session, webhook, row, at)
    else:
        _failed(session, webhook, row, answer, at)
        if webhook.paused_at == at:
            _tell_of_pause(session, webhook, request.page)


def _taken(session: Session, webhook: Webhook, row: WebhookDelivery, at: datetime) -> None:
    row.state = SENT
    if webhook.failures:
        webhook.failures, webhook.failing_since = 0, None
        # Deliveries postponed by another one's failure need not wait: the receiver is back.
        _put_off(session, webhook, at, WebhookDelivery.next_at > at)


def _failed(
    session: Session, webhook: Webhook, row: WebhookDelivery, answer: WebhookAnswer, at: datetime
) -> None:
    """Put the delivery off, or give it up; and pause the webhook if it has no chance of success."""
    webhook.failures += 1
    webhook.failing_since = webhook.failing_since or at
    if row.attempts > len(PAUSES) or answer.state == GONE:
        row.state = FAILED
    else:
        row.next_at = at + _pause(row.attempts)
    # Otherwise hundreds would wait for the same silent address, and other webhooks for them.
    soon = at + _pause(webhook.failures)
    _put_off(session, webhook, soon, WebhookDelivery.next_at < soon)
    if answer.state == GONE:
        webhook.paused_at, webhook.paused_why = at, "It answered 410 Gone: it accepts no more events."
    elif at - webhook.failing_since >= FAILING_FOR:
        webhook.paused_at = at
        webhook.paused_why = f"All deliveries failed for {FAILING_FOR.days} days: {answer.text}"


def _pause(attempts: int) -> timedelta:
    """The delay after this number of attempts, with jitter so that retries do not coincide."""
    pause = PAUSES[min(attempts, len(PAUSES)) - 1]
    return pause * random.uniform(1 - JITTER, 1 + JITTER)


def _put_off(session: Session, webhook: Webhook, until: datetime, which: ColumnElement[bool]) -> None:
    """Postpone the deliveries that were never tried until then."""
    waiting = (
        WebhookDelivery.webhook_id == webhook.id,
        WebhookDelivery.state == WAITING,
        WebhookDelivery.attempts == 0,
        which,
    )
    session.execute(update(WebhookDelivery).where(*waiting).values(next_at=until))


def _tell_of_pause(session: Session, webhook: Webhook, page: str) -> None:
    """Record in the audit log, and mail the webhook's owner, that a webhook was paused."""
    audit.record(session, Viewer(), "webhook.give_up", f"webhook:{webhook.id}", failures=webhook.failures)
    words = f"The webhook to {webhook.address} was paused. {webhook.paused_why}\n\nResume it at {page}\n"
    mail.write_mail(session, [webhook.account_id], MailDraft("Webhook paused", words))


def send_test(session: Session, viewer: Viewer, webhook_id: int) -> str:
    """Send an event that says nothing.

    Raises Conflict while the webhook is paused, OverQuota after 30 in an hour and while too many deliveries
    of its account wait.
    """
    webhook = webhooks.own(session, viewer, webhook_id)
    _require_running(session, webhook)
    webhooks.record(session, viewer, webhook, "test")
    return webhooks.write_event(session, webhook, webhooks.TEST, f"/webhooks/{webhook.id}", {})


def send_again(session: Session, viewer: Viewer, webhook_id: int, message: str) -> None:
    """Send a delivery again, under its id, regardless of its outcome; raises as `send_test`, and NotFound."""
    webhook = webhooks.own(session, viewer, webhook_id)
    query = select(WebhookDelivery).where(
        WebhookDelivery.webhook_id == webhook.id, WebhookDelivery.message == message
    )
    row = session.scalar(query.with_for_update())
    if row is None:
        raise NotFound(f"This webhook has no delivery {message[:40]!r}.")
    _require_running(session, webhook)
    webhooks.record(session, viewer, webhook, "send_again", message=message)
    row.state, row.attempts, row.next_at = WAITING, 0, now(session)
    queue.enqueue(session, queue.WEBHOOK, row.id, priority=queue.LETTERS)


def _require_running(session: Session, webhook: Webhook) -> None:
    if webhook.paused_at is not None:
        raise Conflict("This webhook is paused. Resume it first.")
    if webhooks.has_full_queue(session, webhook.account_id):
        raise OverQuota(
            f"{webhooks.FULL} Try again when they are sent, or delete webhooks that do not answer."
        )
    key = f"webhook {webhook.id}"
    throttles.spend(session, key, BY_HAND_AN_HOUR, timedelta(hours=1), "Too many manual deliveries")


def forget(session: Session) -> None:
    """Drop deliveries of more than 30 days ago, with their attempts."""
    session.execute(delete(WebhookDelivery).where(WebhookDelivery.created_at < now(session) - KEPT_FOR))


def _sending(settings: Settings) -> dict[str, Any]:
    """The networks that webhooks may use, None on a site that sends none."""
    return {"allowed": calls.networks(settings.webhook_networks) if settings.webhooks else None}


_making = partial(Action, record=NewWebhook, site=_sending, status=201)
MAKE = (
    _making(
        name="make_task_webhook",
        summary="Create a webhook of a task",
        more="For organisers of the task. The secret to verify requests is returned once.",
        path="/tasks/<slug>/webhooks",
        form="/tasks/<slug>/webhooks",
        act=lambda session, viewer, slug, asked, allowed: webhooks.make(
            session, viewer, webhooks.of_task(session, viewer, slug), asked.address, asked.events, allowed
        ),
    ),
    _making(
        name="make_team_webhook",
        summary="Create a webhook of a team",
        more="For members of the team. The secret to verify requests is returned once.",
        path="/teams/<id:team_id>/webhooks",
        form="/teams/<id:team_id>/webhooks",
        scopes=(Scope.SUBMIT,),
        may=lambda _, viewer, team_id: webhooks.of_team(viewer, team_id),
        act=lambda session, viewer, team_id, asked, allowed: webhooks.make(
            session, viewer, webhooks.of_team(viewer, team_id), asked.address, asked.events, allowed
        ),
    ),
)
_change = partial(Action, page="webhooks.show", scopes=(Scope.ORGANISE, Scope.SUBMIT), may=by_account)
CHANGE = (
    _change(
        name="delete_webhook",
        summary="Delete a webhook with its deliveries",
        more="Returns its last state.",
        method="DELETE",
        path="/webhooks/<id:webhook_id>",
        form="/webhooks/<id:webhook_id>/delete",
        act=webhooks.delete,
    ),
    _change(
        name="change_webhook",
        summary="Pause or resume a webhook",
        more="Queued events are sent on resume; events during the pause are not recorded.",
        method="PATCH",
        path="/webhooks/<id:webhook_id>",
        form="/webhooks/<id:webhook_id>",
        record=WebhookChange,
        act=lambda session, viewer, webhook_id, asked: (webhooks.pause if asked.paused else webhooks.resume)(
            session, viewer, webhook_id
        ),
    ),
    _change(
        name="rotate_webhook_secret",
        summary="Create a new secret for a webhook",
        more="For one day, requests are signed with both secrets.",
        path="/webhooks/<id:webhook_id>/secret",
        form="/webhooks/<id:webhook_id>/secret",
        act=webhooks.rotate,
        status=201,
    ),
    _change(
        name="test_webhook",
        summary="Send a test event",
        more="Sends an event of type `webhook.test`. Fetch the webhook shortly afterwards to see the "
        "response.",
        path="/webhooks/<id:webhook_id>/test",
        form="/webhooks/<id:webhook_id>/test",
        act=send_test,
    ),
    _change(
        name="send_delivery_again",
        summary="Redeliver an event",
        more="Sends it with the same `webhook-id`, whatever its outcome.",
        path="/webhooks/<id:webhook_id>/deliveries/<message>",
        form="/webhooks/<id:webhook_id>/deliveries/<message>",
        act=send_again,
    ),
)
