"""What a task's organisers see of it besides the board: revisions, uploads, runs, failed work."""

from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import case, select
from sqlalchemy.orm import Session

from leaderboard.db.tables import Account, Job, Qrels, QrelsRevision, Run, Team, Upload
from leaderboard.errors import NotFound
from leaderboard.pages.tasks.overviews import TaskOverview, overview
from leaderboard.services import audit, policy
from leaderboard.services.jobs import queue
from leaderboard.services.jobs.queue import RunState
from leaderboard.services.policy import Viewer
from leaderboard.services.qrels.judged_inputs import MAIN

MOST_UPLOADS = 500
"""Uploads listed, newest first."""


@dataclass(frozen=True, slots=True)
class RevisionRow:
    """One qrels revision."""

    number: int
    note: str
    file_name: str
    judgments: int
    created_at: datetime
    created_by: str


@dataclass(frozen=True, slots=True)
class UploadRow:
    """One upload, whatever became of it."""

    id: int
    team: str
    sender: str
    file_name: str
    name: str
    state: str
    problems: int
    created_at: datetime


@dataclass(frozen=True, slots=True)
class RunRow:
    """One run with where it is on its way to scores."""

    id: int
    name: str
    team: str
    kind: str
    state: RunState


@dataclass(frozen=True, slots=True)
class FailedJob:
    """One piece of work that was given up; subject names the run or upload."""

    id: int
    kind: str
    subject: str
    attempts: int
    message: str
    finished_at: datetime | None


@dataclass(frozen=True, slots=True)
class Desk:
    """A task's organise page."""

    overview: TaskOverview
    revisions: tuple[RevisionRow, ...]
    uploads: tuple[UploadRow, ...]
    runs: tuple[RunRow, ...]
    failed: tuple[FailedJob, ...]


def desk(session: Session, viewer: Viewer, slug: str) -> Desk:
    """Everything about one task; raises NotFound or Forbidden unless the viewer organises it."""
    task = policy.own_task(session, viewer, slug)
    return Desk(
        overview(session, viewer, slug),
        _revisions(session, task.id),
        _uploads(session, task.id),
        _runs(session, task.id),
        _failed(session, task.id),
    )


def evaluate_again(session: Session, viewer: Viewer, slug: str, job_id: int) -> None:
    """Queue a failed job of the task anew; raises NotFound for a job that is not this task's."""
    task = policy.own_task(session, viewer, slug)
    if job_id not in {job.id for job in _failed(session, task.id)}:
        raise NotFound(f"There is no failed job {job_id} in this task.")
    queue.retry(session, job_id)
    audit.record(session, viewer, "job.retry", f"job:{job_id}")


def require_desk(session: Session, viewer: Viewer, slug: str) -> None:
    """Raise NotFound or Forbidden unless the viewer organises the task: asked before a file is read."""
    policy.own_task(session, viewer, slug)


def _revisions(session: Session, task_id: int) -> tuple[RevisionRow, ...]:
    rows = session.execute(
        select(QrelsRevision, Account.name)
        .join(Qrels, Qrels.id == QrelsRevision.qrels_id)
        .outerjoin(Account, Account.id == QrelsRevision.created_by)
        .where(Qrels.task_id == task_id, Qrels.name == MAIN)
        .order_by(QrelsRevision.number.desc())
    )
    return tuple(
        RevisionRow(each.number, each.note, each.file_name, each.judgments, each.created_at, name or "")
        for each, name in rows
    )


def _uploads(session: Session, task_id: int) -> tuple[UploadRow, ...]:
    rows = session.execute(
        select(Upload, Team.name, Account.name)
        .join(Team, Team.id == Upload.team_id)
        .outerjoin(Account, Account.id == Upload.account_id)
        .where(Upload.task_id == task_id)
        .order_by(Upload.id.desc())
        .limit(MOST_UPLOADS)
    )
    return tuple(
        UploadRow(
            upload.id,
            team,
            sender or "",
            upload.file_name,
            upload.wishes["name"],
            upload.state,
            len((upload.report or {}).get("problems", ())),
            upload.created_at,
        )
        for upload, team, sender in rows
    )


def _runs(session: Session, task_id: int) -> tuple[RunRow, ...]:
    rows = session.execute(
        select(Run.id, Run.name, Team.name, Run.kind)
        .join(Team, Team.id == Run.team_id)
        .where(Run.task_id == task_id)
        .order_by(Run.name)
    ).all()
    states = queue.run_states(session, [row[0] for row in rows])
    return tuple(RunRow(run_id, name, team, kind, states[run_id]) for run_id, name, team, kind in rows)


def _failed(session: Session, task_id: int) -> tuple[FailedJob, ...]:
    """The task's failed jobs: an evaluation's subject is a run, a check's an upload."""
    rows = session.execute(
        select(Job, case((Job.kind == queue.EVALUATE, Run.name), else_=Upload.file_name))
        .outerjoin(Run, (Run.id == Job.subject_id) & (Job.kind == queue.EVALUATE))
        .outerjoin(Upload, (Upload.id == Job.subject_id) & (Job.kind == queue.CHECK))
        .where(Job.state == "failed", (Run.task_id == task_id) | (Upload.task_id == task_id))
        .order_by(Job.id)
    )
    return tuple(
        FailedJob(job.id, job.kind, subject, job.attempts, job.error, job.finished_at)
        for job, subject in rows
    )
