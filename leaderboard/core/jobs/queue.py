"""Background work: queued with the change that needs it, claimed by compare-and-set, finished once.

A claim carries a token; a worker whose lease was taken over holds an old token, and nothing it
computed is stored. Times are the database's, so machines need not agree on theirs.
"""

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Annotated

from sqlalchemy import ColumnElement, CursorResult, Update, and_, func, insert, or_, select, update
from sqlalchemy.exc import IntegrityError
from sqlalchemy.orm import Session

from leaderboard.db.engine import lock_key, now
from leaderboard.db.tables import Edition, Job, Mail, Run, Statistic, Upload, Webhook, WebhookDelivery
from leaderboard.errors import Conflict, NotFound
from leaderboard.settings import Settings
from leaderboard.tables.record import Shown

CHECK = "check"
EVALUATE = "evaluate"
COMPARE = "compare"
MAIL = "mail"
WEBHOOK = "webhook"
MOVE = "move"
FRESH = 10
"""Priority of jobs that a user waits for."""
OF_MANY = 5
"""Priority of jobs from bulk uploads."""
LETTERS = 5
"""Priority of mail and webhooks."""
AGAIN = 0
"""Priority of re-scoring under a new edition."""
UNHURRIED = -1
"""Priority of background moves of files to the object store."""
ATTEMPTS, MOST_ATTEMPTS = 3, 9
"""Maximum attempts of a job that raises, and of one whose evaluators were also killed."""
RETRY_AFTER_S = 5
LONGEST_WAIT_S = 60
"""No job waits longer for its next attempt: one that seems to was queued before the clock was set back."""
COMPARE_LIMIT_S = 3600
"""Maximum seconds for a comparison of runs; the setting `job_limit_s` is for all other jobs."""
UNFINISHED = ("queued", "leased", "failed")
WEBHOOKS_AT_ONCE = 8
WEBHOOKS_OF_ONE = 2
"""Deliveries of one account that are on their way at once; of one webhook it is one."""


class ClaimLost(Conflict):
    """Another worker has taken the job over; nothing this one did may be stored."""


@dataclass(frozen=True, slots=True)
class Claim:
    """A job held by one worker until its lease runs out."""

    job_id: int
    token: int
    kind: str
    subject_id: int
    edition_id: int | None
    limit_s: int


@dataclass(frozen=True, slots=True)
class RunState:
    """Scoring progress of a run.

    state: waiting (for judgments), queued, running, done, failed or withdrawn; position counts
    from 1 among queued jobs; message says why it failed.
    """

    state: str
    position: int | None = None
    message: str = ""
    attempts: int = 0


def enqueue(
    session: Session,
    kind: str,
    subject_id: int,
    *,
    priority: int,
    edition_id: int | None = None,
    after: datetime | None = None,
) -> None:
    """Queue a job in the caller's transaction; one that is already queued or running is unchanged.

    after: before when it is not done, at most LONGEST_WAIT_S from now.
    """
    if _is_pending(session, _key(kind, subject_id, edition_id)):
        return
    try:
        with session.begin_nested():
            enqueue_new(session, kind, [subject_id], priority=priority, edition_id=edition_id, after=after)
    except IntegrityError:
        # Another process queued it at the same time.
        return


def enqueue_new(
    session: Session,
    kind: str,
    subject_ids: Iterable[int],
    *,
    priority: int,
    edition_id: int | None = None,
    after: datetime | None = None,
) -> None:
    """Queue jobs, none of which is queued yet, in one statement."""
    at = now(session)
    rows = [
        {
            "kind": kind,
            "subject_id": subject_id,
            "edition_id": edition_id,
            "priority": priority,
            "state": "queued",
            "run_after": after or at,
            "dedupe_key": _key(kind, subject_id, edition_id),
            "created_at": at,
        }
        for subject_id in subject_ids
    ]
    if rows:
        session.execute(insert(Job), rows)


def hurry(session: Session, kind: str, subject_id: int, priority: int) -> None:
    """Raise the priority of a queued job to at least the one given."""
    waits = (Job.kind == kind, Job.subject_id == subject_id, Job.state == "queued", Job.priority < priority)
    # The broker sends it again with urgent priority.
    session.execute(update(Job).where(*waits).values(priority=priority, carried_at=None))


def is_due(at: datetime) -> ColumnElement[bool]:
    """Whether the time of a queued job has come."""
    return or_(Job.run_after <= at, Job.run_after > at + timedelta(seconds=LONGEST_WAIT_S))


def claim(session: Session, owner: str, settings: Settings, *which: ColumnElement[bool]) -> Claim | None:
    """Claim the most urgent job that is due, for as long as the settings allow; None if no job is due.

    which: what jobs have to be, for an evaluator that does not do all.
    """
    at = now(session)
    others = [*which, Job.kind.not_in(left_out(settings))]
    job = None
    while (urgent := _most_urgent(session, at, *others)) is not None and job is None:
        if _has_room(session, urgent.kind, settings):
            job = _next_delivery(session, at, *which) if urgent.kind == WEBHOOK else urgent
        others.append(Job.kind != urgent.kind)
    if job is None:
        return None
    job.state, job.owner, job.started_at = "leased", owner, at
    job.token += 1
    job.attempts += 1
    job.lease_until = at + timedelta(seconds=settings.lease_s)
    job.limit_s = COMPARE_LIMIT_S if job.kind == COMPARE else settings.job_limit_s
    session.flush()
    return Claim(
        job_id=job.id,
        token=job.token,
        kind=job.kind,
        subject_id=job.subject_id,
        edition_id=job.edition_id,
        limit_s=job.limit_s,
    )


def left_out(settings: Settings) -> list[str]:
    """The kinds of jobs that are not done: a process without a mail server leaves mail to the others."""
    return [
        *(() if settings.smtp_url else (MAIL,)),
        *(() if settings.webhooks else (WEBHOOK,)),
        *(() if settings.objects_url else (MOVE,)),
    ]


def limits(settings: Settings) -> dict[str, int]:
    """How many jobs of a kind may run at once, to leave evaluators for runs; other kinds have no limit."""
    return {COMPARE: settings.comparisons_at_once, MAIL: 1, WEBHOOK: WEBHOOKS_AT_ONCE, MOVE: 1}


def _most_urgent(session: Session, at: datetime, *which: ColumnElement[bool]) -> Job | None:
    # Rows that another worker is claiming are skipped, so that none waits for another's claim.
    return session.scalar(
        select(Job)
        .where(Job.state == "queued", is_due(at), *which)
        .order_by(Job.priority.desc(), Job.id)
        .limit(1)
        .with_for_update(skip_locked=True)
    )


def _has_room(session: Session, kind: str, settings: Settings) -> bool:
    """Whether one more job of the kind may be done now."""
    most = limits(settings).get(kind)
    if most is None:
        return True
    lock_key(session, kind)
    running = select(func.count()).select_from(Job).where(Job.state == "leased", Job.kind == kind)
    return (session.scalar(running) or 0) < most


def _next_delivery(session: Session, at: datetime, *which: ColumnElement[bool]) -> Job | None:
    waits = and_(Job.state == "queued", is_due(at), *which)
    return next(iter(deliveries_in_turn(session, waits, Job.state == "leased", 1)), None)


def deliveries_in_turn(
    session: Session, waits: ColumnElement[bool], is_out: ColumnElement[bool], most: int
) -> list[Job]:
    """The next webhook deliveries, taking turns by account so that no account blocks another.

    First come accounts with the fewest deliveries on their way, then those whose turn is longest ago.
    waits, is_out: which jobs may be chosen, and which are on their way.
    """
    jobs = (
        select(Job.id, WebhookDelivery.webhook_id, Webhook.account_id, Webhook.tried_at)
        # A job can outlive its deleted webhook; running it takes no time.
        .outerjoin(WebhookDelivery, WebhookDelivery.id == Job.subject_id)
        .outerjoin(Webhook, Webhook.id == WebhookDelivery.webhook_id)
        .where(Job.kind == WEBHOOK)
    )
    out = jobs.where(is_out).subquery()
    waiting = jobs.where(waits).subquery()
    busy = select(out.c.webhook_id).where(out.c.webhook_id.is_not(None))
    of_account = (
        select(func.count()).where(out.c.account_id == waiting.c.account_id).correlate(waiting)
    ).scalar_subquery()
    may_go = or_(waiting.c.webhook_id.is_(None), waiting.c.webhook_id.not_in(busy))
    firsts = (
        select(
            func.min(waiting.c.id).label("id"),
            waiting.c.account_id,
            func.max(waiting.c.tried_at).label("tried_at"),
            func.max(of_account).label("out"),
        )
        .where(may_go)
        .group_by(waiting.c.webhook_id, waiting.c.account_id)
        .subquery()
    )
    oldest_turn = (firsts.c.tried_at.is_not(None), firsts.c.tried_at, firsts.c.id)
    place = func.row_number().over(partition_by=firsts.c.account_id, order_by=oldest_turn)
    turns = select(firsts.c.id, firsts.c.tried_at, (firsts.c.out + place).label("turn")).subquery()
    return list(
        session.scalars(
            select(Job)
            .join(turns, turns.c.id == Job.id)
            .where(turns.c.turn <= WEBHOOKS_OF_ONE)
            .order_by(turns.c.turn, turns.c.tried_at.is_not(None), turns.c.tried_at, Job.id)
            .limit(most)
            .with_for_update(of=Job, skip_locked=True)
        )
    )


def heartbeat(session: Session, claimed: Claim, lease_s: int) -> bool:
    """Push the lease on; False where it was lost."""
    until = now(session) + timedelta(seconds=lease_s)
    return _changes(session, _leased(claimed).values(lease_until=until)) == 1


def finish(session: Session, claimed: Claim) -> None:
    """Mark the job done in the transaction that stores its result; raises ClaimLost for a stale token."""
    done = _leased(claimed).values(state="done", lease_until=None, finished_at=now(session), error="")
    if _changes(session, done) != 1:
        raise ClaimLost(f"Another worker has taken over job {claimed.job_id}.", job=claimed.job_id)


def fail(session: Session, claimed: Claim, message: str, *, again: bool) -> bool:
    """Record why an attempt failed: queued again while attempts are left and again is True, else failed.

    Whether it is given up now.
    """
    at = now(session)
    job = session.get(Job, claimed.job_id, with_for_update=True)
    if job is None or job.token != claimed.token or job.state != "leased":
        return False
    give_back(job, message, again and job.attempts < job.max_attempts)
    job.run_after = at + timedelta(seconds=RETRY_AFTER_S * job.attempts)
    job.finished_at = at if job.state == "failed" else None
    return job.state == "failed"


def retry(session: Session, job_id: int) -> None:
    """Retry a failed job with all its attempts; raises NotFound unless it has failed."""
    job = session.get(Job, job_id)
    if job is None or job.state != "failed":
        raise NotFound(f"There is no failed job {job_id}.", job=job_id)
    if _is_pending(session, job.dedupe_key):
        job.state = "superseded"
        return
    job.state, job.attempts, job.error = "queued", 0, ""
    job.max_attempts = ATTEMPTS
    job.run_after, job.finished_at, job.carried_at = now(session), None, None


def is_unfinished(session: Session, edition_id: int) -> bool:
    """Whether a job of the edition is still to be done."""
    open_jobs = select(Job.id).where(Job.edition_id == edition_id, Job.state.in_(UNFINISHED))
    return session.scalar(open_jobs.limit(1)) is not None


def run_states(session: Session, run_ids: Collection[int]) -> dict[int, RunState]:
    """The state of each run; three statements however many runs."""
    runs = session.execute(
        select(Run.id, Run.task_id, Run.withdrawn_at, Run.withdrawn_why).where(Run.id.in_(run_ids))
    ).all()
    tasks = {run.task_id for run in runs}
    shown = select(Edition.task_id).where(
        Edition.task_id.in_(tasks), Edition.state.in_(("current", "building"))
    )
    judged = set(session.scalars(shown))
    newest = _newest_jobs(session, run_ids)
    ahead = _positions(session) if any(job.state == "queued" for job in newest.values()) else {}
    states: dict[int, RunState] = {}
    for run in runs:
        if run.withdrawn_at is not None:
            states[run.id] = RunState("withdrawn", message=run.withdrawn_why)
        elif run.task_id not in judged:
            states[run.id] = RunState("waiting", message="Waiting for judgments.")
        else:
            states[run.id] = _state(newest.get(run.id), ahead)
    return states


def scoring_states(session: Session, run_ids: Collection[int]) -> dict[int, str]:
    """Scoring states of runs on a judged task's board, by their jobs alone; one statement."""
    newest = _newest_jobs(session, run_ids)
    return {run_id: _state(newest.get(run_id), {}).state for run_id in run_ids}


def run_state(session: Session, run: Run) -> RunState:
    """The state of one run; one statement, and another while it is queued."""
    if run.withdrawn_at is not None:
        return RunState("withdrawn", message=run.withdrawn_why)
    is_its_job = (Job.edition_id == Edition.id) & (Job.kind == EVALUATE) & (Job.subject_id == run.id)
    rows = session.execute(
        select(Job, Edition.state)
        .select_from(Edition)
        .outerjoin(Job, is_its_job)
        .where(Edition.task_id == run.task_id, Edition.state.in_(("current", "building")))
        .order_by(Edition.state == "current", Job.id)
    ).all()
    if not rows:
        return RunState("waiting", message="Waiting for judgments.")
    job = _newest((row.Job, row.state) for row in rows if row.Job is not None).get(run.id)
    return _state(job, _positions(session) if job is not None and job.state == "queued" else {})


def _state(job: Job | None, ahead: dict[int, int]) -> RunState:
    if job is None:
        return RunState("done")
    if job.state == "queued":
        return RunState("queued", ahead.get(job.id), job.error, job.attempts)
    words = {"leased": "running", "failed": "failed"}
    return RunState(words.get(job.state, "done"), None, job.error, job.attempts)


def _newest_jobs(session: Session, run_ids: Collection[int]) -> dict[int, Job]:
    """Run id -> its job of the shown edition that is unfinished, else of the building one, else its last."""
    rows = session.execute(
        select(Job, Edition.state)
        .join(Edition, Edition.id == Job.edition_id)
        .where(Job.kind == EVALUATE, Job.subject_id.in_(run_ids), Edition.state.in_(("current", "building")))
        .order_by(Edition.state == "current", Job.id)
    )
    return _newest((row.Job, row.state) for row in rows)


def _newest(rows: Iterable[tuple[Job, str]]) -> dict[int, Job]:
    """Run id -> the one of its jobs that tells its state; those of the shown edition come last."""
    jobs: dict[int, Job] = {}
    for job, state in rows:
        if (
            job.subject_id not in jobs
            or (state == "current" and job.state in UNFINISHED)
            or state != "current"
        ):
            jobs[job.subject_id] = job
    return jobs


def _positions(session: Session) -> dict[int, int]:
    queued = session.scalars(
        select(Job.id).where(Job.state == "queued").order_by(Job.priority.desc(), Job.id)
    )
    return {job_id: place for place, job_id in enumerate(queued, start=1)}


def check_position(session: Session, upload_id: int) -> RunState:
    """The state of an upload's check."""
    job = session.scalar(
        select(Job).where(Job.kind == CHECK, Job.subject_id == upload_id).order_by(Job.id.desc()).limit(1)
    )
    if job is None or job.state == "done":
        return RunState("done")
    ahead = 1 + (
        session.scalar(
            select(func.count())
            .select_from(Job)
            .where(
                Job.state == "queued",
                or_(Job.priority > job.priority, and_(Job.priority == job.priority, Job.id < job.id)),
            )
        )
        or 0
    )
    return _state(job, {job.id: ahead})


def _is_pending(session: Session, key: str) -> bool:
    pending = select(Job.id).where(Job.dedupe_key == key, Job.state.in_(("queued", "leased")))
    return session.scalar(pending.limit(1)) is not None


def _key(kind: str, subject_id: int, edition_id: int | None) -> str:
    return f"{kind}:{subject_id}:{edition_id or ''}"


def _leased(claimed: Claim) -> Update:
    # The token fences a worker whose lease was taken over: its statements change no rows.
    return update(Job).where(Job.id == claimed.job_id, Job.token == claimed.token, Job.state == "leased")


def _changes(session: Session, statement: Update) -> int:
    result = session.execute(statement.execution_options(synchronize_session=False))
    assert isinstance(result, CursorResult)
    return result.rowcount


def give_back(job: Job, message: str, again: bool) -> None:
    """End a job's attempt with a message: it is queued again, or has failed."""
    job.state = "queued" if again else "failed"
    job.error = message
    job.lease_until = job.carried_at = None


WAITING, SENT, FAILED = "waiting", "sent", "failed"
MOST_QUEUED = 500
"""Jobs made at once of rows whose time has come."""


def queue_written(session: Session, kind: str, row_ids: Collection[int]) -> None:
    """Queue rows that were written just now."""
    # SQLite reuses ids, so a job of a deleted row may have the same id.
    left = update(Job).where(Job.kind == kind, Job.subject_id.in_(row_ids), Job.state == "queued")
    session.execute(left.values(state="superseded"))
    enqueue_new(session, kind, row_ids, priority=LETTERS)


def queue_due(
    session: Session,
    kind: str,
    row: type[Mail | WebhookDelivery],
    longest: timedelta,
    *which: ColumnElement[bool],
) -> None:
    """Queue due waiting rows that have no job yet."""
    at = now(session)
    pending = select(Job.subject_id).where(Job.kind == kind, Job.state.in_(("queued", "leased")))
    # What seems to wait for longer than anything was put off before the clock was set back.
    is_due = or_(row.next_at <= at, row.next_at > at + longest)
    due = select(row.id).where(row.state == WAITING, is_due, row.id.not_in(pending), *which)
    for row_id in session.scalars(due.order_by(row.id).limit(MOST_QUEUED)).all():
        enqueue(session, kind, row_id, priority=LETTERS)


def work_is_due(next_at: datetime, at: datetime, longest: timedelta) -> bool:
    """Whether the time of one row has come; nothing waits for longer than `longest`, see `queue_due`."""
    return next_at <= at or next_at > at + longest


WORDS = {
    CHECK: "file check",
    EVALUATE: "run scoring",
    COMPARE: "run comparison",
    MAIL: "mail",
    WEBHOOK: "webhooks",
    MOVE: "file move",
}
STATES = {"queued": "waits", "leased": "runs", "failed": "failed"}


@dataclass(frozen=True, slots=True)
class JobCount:
    """Number and maximum age of jobs of one kind in one state."""

    kind: Annotated[str, Shown("Work")]
    state: str
    jobs: int
    oldest_s: float


def unfinished(session: Session, task_id: int | None = None) -> tuple[JobCount, ...]:
    """Unfinished jobs by kind and state, of one task (mail belongs to none) or of all."""
    query = (
        select(Job.kind, Job.state, func.count(), func.min(Job.created_at))
        .where(Job.state.in_(UNFINISHED))
        .group_by(Job.kind, Job.state)
        .order_by(Job.kind, Job.state)
    )
    if task_id is not None:
        query = (
            query.outerjoin(Statistic, (Statistic.id == Job.subject_id) & (Job.kind == COMPARE))
            .outerjoin(Edition, Edition.id == func.coalesce(Job.edition_id, Statistic.edition_id))
            .outerjoin(Upload, (Upload.id == Job.subject_id) & (Job.kind == CHECK))
            .where(or_(Edition.task_id == task_id, Upload.task_id == task_id))
        )
    at = now(session)
    return tuple(
        JobCount(WORDS.get(kind, kind), STATES[state], jobs, max(0.0, (at - oldest).total_seconds()))
        for kind, state, jobs, oldest in session.execute(query)
    )
