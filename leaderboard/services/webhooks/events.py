"""Events told to webhooks, written in the transaction of what they tell of: none is lost, none is made up.

What is told is thin: ids, and where to look. Whoever looks there is shown what it may see then; so no event
of a blind or sealed task says a score, and a team's webhook hears of its own runs alone.
"""

from collections.abc import Collection, Mapping

from sqlalchemy import func, or_, select
from sqlalchemy.orm import Session

from leaderboard.db.engine import now
from leaderboard.db.tables import (
    Announcement,
    Edition,
    Entry,
    Job,
    Phase,
    Run,
    Task,
    Upload,
    Webhook,
    WebhookAttempt,
    WebhookDelivery,
)
from leaderboard.services import policy
from leaderboard.services.jobs import due, queue
from leaderboard.services.webhooks import signatures
from leaderboard.services.webhooks.webhooks import WebhookEvent, is_answered_for

MOST_WAITING = 1000
"""Deliveries of one account that wait to be sent; with more its listeners do not keep up."""
FULL = f"{MOST_WAITING} deliveries to webhooks of this account are waiting, which is the limit."


def upload_decided(session: Session, task: Task, upload: Upload, run_id: int | None) -> None:
    """Tell that a file was accepted as a run, or rejected where there is none."""
    if run_id is None:
        facts, path = {"upload": upload.id}, f"/uploads/{upload.id}"
        _tell(session, WebhookEvent.RUN_REJECTED, task, path, facts, [upload.team_id])
        return
    facts = {"run": run_id, "upload": upload.id}
    _tell(session, WebhookEvent.RUN_ACCEPTED, task, f"/runs/{run_id}", facts, [upload.team_id])


def run_scored(session: Session, run_id: int, edition_id: int) -> None:
    """Tell that a run was evaluated for the edition that is shown; of one being built the edition is told."""
    edition = session.get_one(Edition, edition_id)
    if edition.state != "current":
        return
    run, task = session.get_one(Run, run_id), session.get_one(Task, edition.task_id)
    facts = {"run": run_id, "edition": edition.number}
    _tell(session, WebhookEvent.RUN_SCORED, task, f"/runs/{run_id}", facts, [run.team_id])


def edition_shown(session: Session, edition: Edition) -> None:
    """Tell that the board shows an edition: teams only where it shows scores at all."""
    task = session.get_one(Task, edition.task_id)
    shows = policy.sight_of(session, policy.ANONYMOUS, task).means
    teams = _entered(session, task) if shows else ()
    facts = {"edition": edition.number}
    _tell(session, WebhookEvent.EDITION_SHOWN, task, f"/tasks/{task.slug}", facts, teams)


def dates_changed(session: Session, task: Task, phase: Phase) -> None:
    """Tell that a phase opens or closes at another time."""
    path = f"/tasks/{task.slug}/phases"
    _tell(session, WebhookEvent.DATES_CHANGED, task, path, {"phase": phase.name}, _entered(session, task))


def announced(session: Session, task: Task, announcement: Announcement, team_ids: Collection[int]) -> None:
    """Tell of an announcement that is for these teams."""
    path = f"/tasks/{task.slug}/news#announcement-{announcement.id}"
    _tell(session, WebhookEvent.ANNOUNCEMENT, task, path, {"announcement": announcement.id}, team_ids)


def job_failed(session: Session, job_id: int) -> None:
    """Tell a task's organisers that a check or an evaluation was given up; other work is no task's."""
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
    told = {"task": task.slug, **facts}
    for webhook in session.scalars(listening.order_by(Webhook.id)).all():
        if event in webhook.events:
            write(session, webhook, event, path, told)


def write(session: Session, webhook: Webhook, event: str, path: str, facts: Mapping[str, int | str]) -> str:
    """Write an event down for one webhook and queue it; what receivers know it by.

    Where the account's queue is full, it is listed as failed and can be sent by hand later.
    """
    at = now(session)
    is_full = has_full_queue(session, webhook.account_id)
    row = WebhookDelivery(
        webhook_id=webhook.id,
        message=signatures.new_message(),
        event=event,
        data=dict(facts),
        path=path,
        state=due.FAILED if is_full else due.WAITING,
        created_at=at,
        next_at=at,
    )
    session.add(row)
    session.flush()
    if is_full:
        session.add(WebhookAttempt(delivery_id=row.id, at=at, milliseconds=0, said=f"Not sent: {FULL}"))
        return row.message
    due.queue_written(session, queue.WEBHOOK, [row.id])
    return row.message


def has_full_queue(session: Session, account_id: int) -> bool:
    """Whether as many deliveries of an account wait as may."""
    waiting = (
        select(WebhookDelivery.id)
        .join(Webhook, Webhook.id == WebhookDelivery.webhook_id)
        .where(Webhook.account_id == account_id, WebhookDelivery.state == due.WAITING)
        .limit(MOST_WAITING)
    )
    return (session.scalar(select(func.count()).select_from(waiting.subquery())) or 0) >= MOST_WAITING
