"""Webhooks of tasks, created by organisers, and of teams, created by members.

Who made one answers for it: once it no longer organises the task or belongs to the team, nothing is sent
until an account that does resumes it. So accounts that left receive nothing more.

Events are thin: ids and addresses. Anyone who looks there is shown what it may see then; so no event
of a blind or sealed task says a score, and a team's webhook hears of its own runs alone.
"""

import hmac
import secrets
from base64 import b64decode, b64encode
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Annotated, Any
from urllib.parse import urlsplit

from sqlalchemy import ColumnElement, func, or_, select, update
from sqlalchemy.orm import Session

from leaderboard.core import audit, policy, throttles
from leaderboard.core.jobs import queue
from leaderboard.core.policy import Viewer
from leaderboard.db.engine import lock_key, now
from leaderboard.db.tables import (
    Account,
    Announcement,
    Edition,
    Entry,
    Job,
    Member,
    Phase,
    Run,
    Task,
    TaskRole,
    Upload,
    Webhook,
    WebhookAttempt,
    WebhookDelivery,
)
from leaderboard.errors import Conflict, Forbidden, Invalid, NotFound, OverQuota
from leaderboard.fields import Field
from leaderboard.notify.ops.calls import Networks, checked_address

PREFIX = "whsec_"
SECRET_BYTES = 32
"""The specification takes 24 to 64."""


def new_secret() -> str:
    """A new secret, as its owner is shown it."""
    return PREFIX + b64encode(secrets.token_bytes(SECRET_BYTES)).decode()


def new_message() -> str:
    """A random delivery id; a sequence number would reveal activity elsewhere."""
    return f"msg_{secrets.token_hex(16)}"


def headers(message: str, at: datetime, body: bytes, signing: Iterable[str]) -> dict[str, str]:
    """The headers of one attempt; with two secrets, during a rotation, there is a signature by each.

    Source: Standard Webhooks 1.0.0, "Signature scheme" and "Webhook headers": HMAC-SHA256 of id, timestamp
    in whole seconds and body, joined by full stops.
    """
    seconds = int(at.timestamp())
    signed = f"{message}.{seconds}.".encode() + body
    signatures = (hmac.digest(b64decode(secret.removeprefix(PREFIX)), signed, "sha256") for secret in signing)
    return {
        "webhook-id": message,
        "webhook-timestamp": str(seconds),
        "webhook-signature": " ".join(f"v1,{b64encode(signature).decode()}" for signature in signatures),
    }


MOST = 5
"""Webhooks that a task or a team may have."""
MADE_A_DAY = 20
BOTH_SECRETS_FOR = timedelta(days=1)


class WebhookEvent(StrEnum):
    """Events a webhook can be notified of."""

    RUN_ACCEPTED = "run.accepted"
    RUN_REJECTED = "run.rejected"
    RUN_SCORED = "run.scored"
    EDITION_SHOWN = "edition.shown"
    DATES_CHANGED = "task.dates_changed"
    ANNOUNCEMENT = "task.announcement"
    JOB_FAILED = "job.failed"


TEST = "webhook.test"
"""Event of the test button, sent regardless of the webhook's events."""
MEANINGS = {
    WebhookEvent.RUN_ACCEPTED: "a file was accepted as a run",
    WebhookEvent.RUN_REJECTED: "a file failed its check",
    WebhookEvent.RUN_SCORED: "a run was scored for the current leaderboard",
    WebhookEvent.EDITION_SHOWN: "the leaderboard shows a new edition: new judgments or measures",
    WebhookEvent.DATES_CHANGED: "the opening or closing time of a phase changed",
    WebhookEvent.ANNOUNCEMENT: "the organisers published an announcement",
    WebhookEvent.JOB_FAILED: "a check or an evaluation failed for good",
}
OF_TEAMS = tuple(event for event in WebhookEvent if event is not WebhookEvent.JOB_FAILED)
"""Events of team webhooks: on the team's own runs and on tasks it has entered."""


@dataclass(frozen=True, slots=True)
class WebhookOwner:
    """The owner of a webhook: a task or a team; the other is None."""

    task_id: int | None = None
    team_id: int | None = None

    @property
    def subject(self) -> str:
        """The owner's name in the audit log."""
        return f"team:{self.team_id}" if self.task_id is None else f"task:{self.task_id}"


@dataclass(frozen=True, slots=True, kw_only=True)
class NewWebhook:
    """A new webhook: address and events."""

    address: Annotated[
        str, Field(title="Address", help="For example https://example.org/hooks/leaderboard.", longest=500)
    ]
    events: Annotated[tuple[str, ...], Field(title="Notify when")]


@dataclass(frozen=True, slots=True, kw_only=True)
class WebhookChange:
    """Whether a webhook is paused from now on."""

    paused: Annotated[bool, Field(title="Paused")]


@dataclass(frozen=True, slots=True)
class WebhookSecret:
    """A webhook with its new secret, which is shown this once."""

    id: int
    secret: str


def of_task(session: Session, viewer: Viewer, slug: str) -> WebhookOwner:
    """The task as an owner, for its organisers; raises NotFound, SignInNeeded or Forbidden."""
    return WebhookOwner(task_id=policy.own_task(session, viewer, slug).id)


def of_team(viewer: Viewer, team_id: int) -> WebhookOwner:
    """The team as an owner, for its members; raises SignInNeeded or NotFound, as for an unknown team.

    Raises Forbidden for a token that is for one task: a team's webhook hears of all.
    """
    policy.require_account(viewer)
    if not policy.owns(viewer, team_id):
        raise NotFound(f"You are not in team {team_id}.", team=team_id)
    if viewer.only_task is not None:
        raise Forbidden(
            "This token is limited to one task, but a team's webhooks cover all tasks. Create a "
            "token without this limit."
        )
    return WebhookOwner(team_id=team_id)


def owned_by(owner: WebhookOwner) -> ColumnElement[bool]:
    """The condition that a webhook is the owner's."""
    return (Webhook.task_id == owner.task_id) if owner.task_id else (Webhook.team_id == owner.team_id)


def is_answered_for() -> ColumnElement[bool]:
    """The condition that who made a webhook still organises its task, or is in its team."""
    organises = select(TaskRole.account_id).where(
        TaskRole.task_id == Webhook.task_id,
        TaskRole.account_id == Webhook.account_id,
        TaskRole.role == policy.ORGANISER,
    )
    belongs = select(Member.account_id).where(
        Member.team_id == Webhook.team_id, Member.account_id == Webhook.account_id
    )
    is_open = select(Account.id).where(Account.id == Webhook.account_id, Account.disabled_at.is_(None))
    # Correlated explicitly, because the enclosing statement may also read accounts.
    here = or_(organises.correlate(Webhook).exists(), belongs.correlate(Webhook).exists())
    return here & is_open.correlate(Webhook).exists()


def make(
    session: Session,
    viewer: Viewer,
    owner: WebhookOwner,
    address: str,
    events: Collection[str],
    allowed: Networks | None,
) -> WebhookSecret:
    """Create a webhook of an owner from `of_task` or `of_team`; its secret is shown once.

    allowed: None where the site sends no webhooks, which raises Conflict. Raises Invalid for a forbidden
    address and for events that the owner may not see, OverQuota for more than five, or twenty made in a day.
    """
    account_id = policy.require_account(viewer)
    if allowed is None:
        raise Conflict("Webhooks are turned off on this site. Ask its operator.")
    chosen = _events(owner, events)
    address = checked_address(address, allowed)
    # Locked, so that two simultaneous requests cannot exceed the limit.
    lock_key(session, f"webhooks {owner.subject}")
    why = "Too many webhooks created today"
    throttles.spend(session, f"webhooks {owner.subject}", MADE_A_DAY, timedelta(days=1), why)
    if (session.scalar(select(func.count(Webhook.id)).where(owned_by(owner))) or 0) >= MOST:
        raise OverQuota(f"There can be at most {MOST} webhooks. Delete one that you no longer need.")
    row = Webhook(
        task_id=owner.task_id,
        team_id=owner.team_id,
        account_id=account_id,
        address=address,
        events=chosen,
        secret=new_secret(),
        created_at=now(session),
    )
    session.add(row)
    session.flush()
    # Only the host: the path is often a secret, and operators read the audit log.
    record(session, viewer, row, "make", host=host_of(address), events=chosen)
    return WebhookSecret(row.id, row.secret)


def _events(owner: WebhookOwner, events: Collection[str]) -> list[str]:
    webhook_events = OF_TEAMS if owner.task_id is None else tuple(WebhookEvent)
    strange = sorted(set(events) - set(webhook_events))
    if strange or not events:
        wrong = f"not {strange[0][:40]!r}" if strange else "at least one"
        raise Invalid(f"Choose events from {', '.join(webhook_events)}: {wrong}.", field="events")
    return [event for event in webhook_events if event in events]


def own(session: Session, viewer: Viewer, webhook_id: int) -> Webhook:
    """A webhook of the viewer's team or task, with its row locked; raises SignInNeeded or NotFound."""
    policy.require_account(viewer)
    row = session.get(Webhook, webhook_id, with_for_update=True, populate_existing=True)
    if row is None or not is_owner(viewer, row):
        raise not_found(webhook_id)
    return row


def is_owner(viewer: Viewer, webhook: Webhook) -> bool:
    """Whether the viewer organises the webhook's task, or is in its team and no token for one task."""
    if webhook.task_id is not None:
        return policy.organises(viewer, webhook.task_id)
    is_member = webhook.team_id is not None and policy.owns(viewer, webhook.team_id)
    return is_member and viewer.only_task is None


def not_found(webhook_id: int) -> NotFound:
    """The error for a missing one, and for one of others."""
    return NotFound(f"You have no webhook {webhook_id}.", webhook=webhook_id)


def rotate(session: Session, viewer: Viewer, webhook_id: int) -> WebhookSecret:
    """Give the webhook a new secret; for a day the one before signs as well, so that nothing is refused."""
    row = own(session, viewer, webhook_id)
    row.old_secret, row.old_secret_until = row.secret, now(session) + BOTH_SECRETS_FOR
    row.secret = new_secret()
    record(session, viewer, row, "rotate")
    return WebhookSecret(row.id, row.secret)


def pause(session: Session, viewer: Viewer, webhook_id: int) -> None:
    """Send nothing more, and write nothing down for it, until it is resumed."""
    row = own(session, viewer, webhook_id)
    if row.paused_at is None:
        row.paused_at, row.paused_why = now(session), "It was paused manually."
        record(session, viewer, row, "pause")


def resume(session: Session, viewer: Viewer, webhook_id: int) -> None:
    """Send again, what waited first; who resumes it answers for it from now on."""
    row = own(session, viewer, webhook_id)
    row.account_id = policy.require_account(viewer)
    row.paused_at, row.paused_why = None, ""
    row.failures, row.failing_since = 0, None
    waiting = update(WebhookDelivery).where(
        WebhookDelivery.webhook_id == row.id, WebhookDelivery.state == queue.WAITING
    )
    session.execute(waiting.values(attempts=0, next_at=now(session)))
    record(session, viewer, row, "resume")


def delete(session: Session, viewer: Viewer, webhook_id: int) -> dict[str, Any]:
    """Delete a webhook with its deliveries; returns the `team_id` or `slug` of its owner."""
    row = own(session, viewer, webhook_id)
    record(session, viewer, row, "delete")
    session.delete(row)
    is_of_team = row.task_id is None
    return {"team_id": row.team_id} if is_of_team else {"slug": session.get_one(Task, row.task_id).slug}


def stop(session: Session, viewer: Viewer, webhook_id: int) -> None:
    """Pause any webhook, for operators; its owner can resume it. Raises NotFound if it does not exist."""
    policy.require_operator(viewer)
    row = session.get(Webhook, webhook_id, with_for_update=True, populate_existing=True)
    if row is None:
        raise NotFound(f"There is no webhook {webhook_id}.", webhook=webhook_id)
    row.paused_at, row.paused_why = now(session), "The operator of this site paused it."
    record(session, viewer, row, "stop")


def host_of(address: str) -> str:
    """The host of a webhook, with its port."""
    return urlsplit(address).netloc


def record(session: Session, viewer: Viewer, row: Webhook, act: str, **detail: object) -> None:
    """Put an act on a webhook on record."""
    whose = {"task": row.task_id} if row.task_id is not None else {"team": row.team_id}
    audit.record(session, viewer, f"webhook.{act}", f"webhook:{row.id}", **whose, **detail)


MOST_WAITING = 1000
"""Deliveries of one account that wait to be sent; with more its listeners do not keep up."""
FULL = f"This account has reached the limit of {MOST_WAITING} waiting webhook deliveries."


def upload_decided(session: Session, task: Task, upload: Upload, run_id: int | None) -> None:
    """Record the event that a file was accepted as a run, or rejected if there is no run."""
    if run_id is None:
        facts, path = {"upload": upload.id}, f"/uploads/{upload.id}"
        _tell(session, WebhookEvent.RUN_REJECTED, task, path, facts, [upload.team_id])
        return
    facts = {"run": run_id, "upload": upload.id}
    _tell(session, WebhookEvent.RUN_ACCEPTED, task, f"/runs/{run_id}", facts, [upload.team_id])


def run_scored(session: Session, run_id: int, edition_id: int) -> None:
    """Record that a run was scored for the shown edition; new editions have their own event."""
    edition = session.get_one(Edition, edition_id)
    if edition.state != "current":
        return
    run, task = session.get_one(Run, run_id), session.get_one(Task, edition.task_id)
    facts = {"run": run_id, "edition": edition.number}
    _tell(session, WebhookEvent.RUN_SCORED, task, f"/runs/{run_id}", facts, [run.team_id])


def edition_shown(session: Session, edition: Edition) -> None:
    """Send that the board shows an edition; to teams only where it shows scores at all."""
    task = session.get_one(Task, edition.task_id)
    shows = policy.access_of(session, policy.ANONYMOUS, task).means
    teams = _entered(session, task) if shows else ()
    facts = {"edition": edition.number}
    _tell(session, WebhookEvent.EDITION_SHOWN, task, f"/tasks/{task.slug}", facts, teams)


def dates_changed(session: Session, task: Task, phase: Phase) -> None:
    """Send that a phase opens or closes at another time."""
    path = f"/tasks/{task.slug}/phases"
    _tell(session, WebhookEvent.DATES_CHANGED, task, path, {"phase": phase.name}, _entered(session, task))


def announced(session: Session, task: Task, announcement: Announcement, team_ids: Collection[int]) -> None:
    """Send an announcement to these teams."""
    path = f"/tasks/{task.slug}/news#announcement-{announcement.id}"
    _tell(session, WebhookEvent.ANNOUNCEMENT, task, path, {"announcement": announcement.id}, team_ids)


def job_failed(session: Session, job_id: int) -> None:
    """Notify a task's organisers that a check or an evaluation was given up; other jobs have no task."""
    job = session.get_one(Job, job_id)
    if job.kind == queue.EVALUATE:
        task_id, facts = session.get_one(Run, job.subject_id).task_id, {"run": job.subject_id}
    elif job.kind == queue.CHECK:
        task_id, facts = session.get_one(Upload, job.subject_id).task_id, {"upload": job.subject_id}
    else:
        return
    task = session.get_one(Task, task_id)
    _tell(
        session, WebhookEvent.JOB_FAILED, task, f"/tasks/{task.slug}/organise", {"job": job.id, **facts}, ()
    )


def _entered(session: Session, task: Task) -> Collection[int]:
    entered = select(Entry.team_id).where(Entry.task_id == task.id, Entry.state == "entered")
    return session.scalars(entered).all()


def _tell(
    session: Session,
    event: WebhookEvent,
    task: Task,
    path: str,
    facts: Mapping[str, int | str],
    team_ids: Collection[int],
) -> None:
    """Write the event down for the webhooks of the task and, once it is published, of these teams."""
    owned = Webhook.task_id == task.id
    if task.published_at is not None and team_ids:
        owned = or_(owned, Webhook.team_id.in_(team_ids))
    listening = select(Webhook).where(owned, Webhook.paused_at.is_(None), is_answered_for())
    payload = {"task": task.slug, **facts}
    for webhook in session.scalars(listening.order_by(Webhook.id)).all():
        if event in webhook.events:
            write_event(session, webhook, event, path, payload)


def write_event(
    session: Session, webhook: Webhook, event: str, path: str, facts: Mapping[str, int | str]
) -> str:
    """Write an event down for one webhook and queue it; what receivers know it by.

    Where the account's queue is full, it is listed as failed and can be sent by hand later.
    """
    at = now(session)
    is_full = has_full_queue(session, webhook.account_id)
    row = WebhookDelivery(
        webhook_id=webhook.id,
        message=new_message(),
        event=event,
        data=dict(facts),
        path=path,
        state=queue.FAILED if is_full else queue.WAITING,
        created_at=at,
        next_at=at,
    )
    session.add(row)
    session.flush()
    if is_full:
        session.add(WebhookAttempt(delivery_id=row.id, at=at, milliseconds=0, said=f"Not sent: {FULL}"))
        return row.message
    queue.queue_written(session, queue.WEBHOOK, [row.id])
    return row.message


def has_full_queue(session: Session, account_id: int) -> bool:
    """Whether as many deliveries of an account wait as may."""
    waiting = (
        select(WebhookDelivery.id)
        .join(Webhook, Webhook.id == WebhookDelivery.webhook_id)
        .where(Webhook.account_id == account_id, WebhookDelivery.state == queue.WAITING)
        .limit(MOST_WAITING)
    )
    return (session.scalar(select(func.count()).select_from(waiting.subquery())) or 0) >= MOST_WAITING
