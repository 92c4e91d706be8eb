"""An upload as its team and the organisers of the task see it: its report, and how far its check is."""

from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import select
from sqlalchemy.orm import Session

from leaderboard.db.tables import Account, Run, Task, Team, Upload
from leaderboard.errors import NotFound
from leaderboard.pages.runs.actions import RunActions, actions_of
from leaderboard.services import policy
from leaderboard.services.evaluations.choices import is_over
from leaderboard.services.jobs import queue
from leaderboard.services.jobs.queue import RunState
from leaderboard.services.policy import Viewer
from leaderboard.services.runs.admission import RunRequest
from leaderboard.services.runs.uploads import report_of
from leaderboard.trec.runs.reports import Report


@dataclass(frozen=True, slots=True)
class UploadPage:
    """An upload as its sender and the organisers see it."""

    id: int
    task_slug: str
    task_name: str
    team: str
    sender: str
    file_name: str
    sha256: str
    size: int
    name: str
    kind: str
    state: str
    report: Report | None
    run_id: int | None
    progress: RunState
    created_at: datetime
    checked_at: datetime | None
    actions: RunActions | None
    """What the reader may do with the run; None where there is none."""


def upload_page(session: Session, viewer: Viewer, upload_id: int) -> UploadPage:
    """One upload with its report; NotFound for all but the team that sent it and the organisers."""
    row = session.execute(
        select(Upload, Task, Team, Account.name)
        .join(Task, Task.id == Upload.task_id)
        .join(Team, Team.id == Upload.team_id)
        .outerjoin(Account, Account.id == Upload.account_id)
        .where(Upload.id == upload_id)
    ).one_or_none()
    if row is None or not (policy.owns(viewer, row.Upload.team_id) or policy.organises(viewer, row.Task.id)):
        raise NotFound(f"There is no upload {upload_id}.", upload=upload_id)
    upload, task, team, sender = row
    wishes = RunRequest(**upload.wishes)
    run = session.scalar(select(Run).where(Run.upload_id == upload.id))
    closed = {run.phase_id} if run is not None and is_over(session, run.phase_id) else ()
    return UploadPage(
        id=upload.id,
        task_slug=task.slug,
        task_name=task.name,
        team=team.name,
        sender=sender or "",
        file_name=upload.file_name,
        sha256=upload.sha256,
        size=upload.bytes,
        name=wishes.name if run is None else run.name,
        kind=wishes.kind,
        state=upload.state,
        report=report_of(upload),
        run_id=None if run is None else run.id,
        progress=queue.check_position(session, upload.id),
        created_at=upload.created_at,
        checked_at=upload.checked_at,
        actions=actions_of(session, viewer, [run], {task.id: task}, closed)[run.id] if run else None,
    )
