"""Work of a task that was given up, and starting it again."""

from dataclasses import dataclass
from typing import Annotated

from sqlalchemy import case, select
from sqlalchemy.orm import Session

from leaderboard.db.tables import Job, Run, Upload
from leaderboard.errors import NotFound
from leaderboard.services import audit, policy
from leaderboard.services.jobs import queue
from leaderboard.services.policy import Viewer
from leaderboard.tables.record import Shown

MOST = 200
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
    rows = session.scalars(select(Job).where(Job.state == "failed").order_by(Job.id.desc()).limit(MOST))
    return tuple(
        FailedJob(
            id=job.id, kind=job.kind, subject=str(job.subject_id), attempts=job.attempts, message=job.error
        )
        for job in rows
    )


def again(session: Session, viewer: Viewer, job_id: int) -> None:
    """Queue a failed job of any task anew, for operators; raises NotFound unless it has failed."""
    policy.require_operator(viewer)
    queue.retry(session, job_id)
    audit.record(session, viewer, "job.retry", f"job:{job_id}")


def evaluate_again(session: Session, viewer: Viewer, slug: str, job_id: int) -> None:
    """Queue a failed job of the task anew; raises NotFound for a job that is not this task's."""
    task = policy.own_task(session, viewer, slug)
    if job_id not in {job.id for job in of_task(session, task.id)}:
        raise NotFound(f"There is no failed job {job_id} in this task.")
    queue.retry(session, job_id)
    audit.record(session, viewer, "job.retry", f"job:{job_id}")
