"""Leases of jobs that end before the job does: they ran out, or their holder died or lost the database."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Annotated

from sqlalchemy import ColumnElement, case, or_, select, update
from sqlalchemy.orm import Session

from leaderboard.core import audit, policy
from leaderboard.core.jobs import queue
from leaderboard.core.jobs.queue import Claim
from leaderboard.core.policy import Viewer
from leaderboard.db.engine import now
from leaderboard.db.tables import Job, Run, Upload
from leaderboard.errors import NotFound
from leaderboard.tables.record import Shown


def sweep(session: Session, lease_s: int) -> list[Job]:
    """Release every job with an expired lease: queued again, or failed.

    A lease that ends later than twice lease_s from now was taken before the clock was set back.
    """
    at = now(session)
    ran_out = or_(Job.lease_until < at, Job.lease_until > at + timedelta(seconds=2 * lease_s))
    return _release(session, _leased(session, ran_out))


def free(session: Session, owner: str) -> list[Job]:
    """Release the leases of a worker that is known to be dead: queued again, or failed."""
    return _release(session, _leased(session, Job.owner == owner))


def put_off(session: Session, claimed: Claim, message: str) -> None:
    """Release a job that found the object store unavailable; the attempt counts as not made.

    Other files that wait to be moved would wait for the same store, while runs wait for evaluators.
    """
    job = session.get(Job, claimed.job_id, with_for_update=True)
    if job is None or job.token != claimed.token or job.state != "leased":
        return
    soon = now(session) + timedelta(seconds=queue.LONGEST_WAIT_S)
    queue.give_back(job, message, again=True)
    job.attempts -= 1
    job.run_after = soon
    session.flush()
    session.execute(
        update(Job)
        .where(Job.kind == queue.MOVE, Job.state == "queued", Job.run_after < soon)
        .values(run_after=soon)
    )


def return_unspent(session: Session, owner: str) -> int:
    """Release the leases of a worker that lost the database; its attempts count as not made."""
    jobs = _leased(session, Job.owner == owner)
    for job in jobs:
        queue.give_back(job, "The database was unavailable; the job is retried.", again=True)
        job.attempts -= 1
        job.run_after = now(session)
    session.flush()
    return len(jobs)


def owners_on(session: Session, host: str) -> list[str]:
    """The owners on this host that hold a job."""
    owners = select(Job.owner).where(Job.state == "leased", Job.owner.startswith(f"{host}:", autoescape=True))
    return list(session.scalars(owners.distinct()))


def _leased(session: Session, which: ColumnElement[bool]) -> list[Job]:
    jobs = select(Job).where(Job.state == "leased", which).order_by(Job.id)
    return list(session.scalars(jobs.with_for_update(skip_locked=True)))


def _ran_over(job: Job, at: datetime) -> bool:
    """Whether it ran for as long as it might: then its evaluator was killed for it."""
    limit = timedelta(seconds=job.limit_s)
    return job.started_at is not None and at - job.started_at >= limit


def _release(session: Session, jobs: list[Job]) -> list[Job]:
    at = now(session)
    for job in jobs:
        if not _ran_over(job, at) and job.max_attempts < queue.MOST_ATTEMPTS:
            # The job need not be the cause of the kill, so it gets one more attempt.
            job.max_attempts += 1
        queue.give_back(
            job,
            f"The evaluator stopped before the job was done (attempt {job.attempts} of {job.max_attempts}).",
            job.attempts < job.max_attempts,
        )
        job.run_after = at
        job.finished_at = at if job.state == "failed" else None
    session.flush()
    return jobs


MOST_FAILED = 200
"""Failed jobs that a page of the whole site lists."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FailedJob:
    """One piece of work that was given up; subject names the run or upload."""

    id: Annotated[int, Shown(key="again", digits=None)]
    kind: Annotated[str, Shown("Work")]
    subject: Annotated[str, Shown("On")]
    attempts: int
    message: str


def of_task(session: Session, task_id: int) -> tuple[FailedJob, ...]:
    """The task's failed jobs: an evaluation's subject is a run, a check's an upload."""
    rows = session.execute(
        select(Job, case((Job.kind == queue.EVALUATE, Run.name), else_=Upload.file_name))
        .outerjoin(Run, (Run.id == Job.subject_id) & (Job.kind == queue.EVALUATE))
        .outerjoin(Upload, (Upload.id == Job.subject_id) & (Job.kind == queue.CHECK))
        .where(Job.state == "failed", (Run.task_id == task_id) | (Upload.task_id == task_id))
        .order_by(Job.id)
    )
    return tuple(
        FailedJob(id=job.id, kind=job.kind, subject=subject, attempts=job.attempts, message=job.error)
        for job, subject in rows
    )


def of_site(session: Session) -> tuple[FailedJob, ...]:
    """The newest failed jobs of all tasks, by number only: an operator looks after work, not into tasks."""
    rows = session.scalars(
        select(Job).where(Job.state == "failed").order_by(Job.id.desc()).limit(MOST_FAILED)
    )
    return tuple(
        FailedJob(
            id=job.id, kind=job.kind, subject=str(job.subject_id), attempts=job.attempts, message=job.error
        )
        for job in rows
    )


def again(session: Session, viewer: Viewer, job_id: int) -> None:
    """Retry a failed job of any task, for operators; raises NotFound unless it has failed."""
    policy.require_operator(viewer)
    queue.retry(session, job_id)
    audit.record(session, viewer, "job.retry", f"job:{job_id}")


def evaluate_again(session: Session, viewer: Viewer, slug: str, job_id: int) -> None:
    """Retry a failed job of the task; raises NotFound for a job of another task."""
    task = policy.own_task(session, viewer, slug)
    if job_id not in {job.id for job in of_task(session, task.id)}:
        raise NotFound(f"There is no failed job {job_id} in this task.")
    queue.retry(session, job_id)
    audit.record(session, viewer, "job.retry", f"job:{job_id}")
