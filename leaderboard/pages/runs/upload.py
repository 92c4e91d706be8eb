"""An upload as its team and the organisers of the task see it: its report, and how far its check is."""

from dataclasses import dataclass

from sqlalchemy import select
from sqlalchemy.orm import Session

from leaderboard.db.tables import Account, Run, Task, Team, Upload
from leaderboard.errors import NotFound
from leaderboard.pages.runs.actions import RunActions, actions_of
from leaderboard.pages.runs.files import SentFile, download_name, sent_as
from leaderboard.services import policy
from leaderboard.services.evaluations.choices import is_over
from leaderboard.services.jobs import queue
from leaderboard.services.jobs.queue import RunState
from leaderboard.services.policy import Viewer
from leaderboard.services.runs import fixing, limits
from leaderboard.services.runs.admission import RunRequest
from leaderboard.services.runs.prepare import suggested_name
from leaderboard.services.runs.uploads import report_of
from leaderboard.services.tasks.head import OfTask
from leaderboard.trec.runs.reports import Report


@dataclass(frozen=True, slots=True, kw_only=True)
class UploadPage(OfTask):
    """An upload as its sender and the organisers see it."""

    upload: Upload
    team: str
    sender: str
    name: str
    kind: str
    report: Report | None
    run_id: int | None
    progress: RunState
    offered: tuple[str, ...]
    """Fixes that can be applied to the file, by name."""
    fixed_ids: tuple[int, ...]
    """The uploads that were made of this one by fixes."""
    has_file: bool
    actions: RunActions | None
    """What the reader may do with the run; None where there is none."""
    rejections: str
    """What is said to its sender of how many more files may be rejected; mostly empty."""


def upload_page(session: Session, viewer: Viewer, upload_id: int) -> UploadPage:
    """One upload with its report; NotFound for all but the team that sent it and the organisers."""
    upload, task, team, sender = _row(session, viewer, upload_id)
    wishes = RunRequest(**upload.wishes)
    fixed = select(Upload.id).where(Upload.fixed_from_id == upload_id).order_by(Upload.id)
    run = session.scalar(select(Run).where(Run.upload_id == upload.id))
    closed = {run.phase_id} if run is not None and is_over(session, run.phase_id) else ()
    return UploadPage(
        of=task,
        upload=upload,
        team=team.name,
        sender=sender or "",
        name=wishes.name if run is None else run.name,
        kind=wishes.kind,
        report=report_of(upload),
        run_id=None if run is None else run.id,
        progress=queue.check_position(session, upload.id),
        offered=fixing.offered(session, upload),
        fixed_ids=tuple(session.scalars(fixed)),
        has_file=fixing.is_kept(session, upload.id),
        actions=actions_of(session, viewer, [run], {task.id: task}, closed)[run.id] if run else None,
        rejections=_rejections(session, viewer, upload),
    )


def _rejections(session: Session, viewer: Viewer, upload: Upload) -> str:
    if viewer.account_id is None or viewer.account_id != upload.account_id or upload.state == "accepted":
        return ""
    return limits.rejections_in_words(limits.rejections_left(session, viewer.account_id))


def upload_file(session: Session, viewer: Viewer, upload_id: int) -> SentFile:
    """An upload's file as it was sent or fixed, for who may see the upload; NotFound where it is not kept."""
    upload, *_ = _row(session, viewer, upload_id)
    if not fixing.is_kept(session, upload_id):
        raise NotFound(f"The file of upload {upload_id} was not kept.", upload=upload_id)
    # What was fixed is plain text, whatever it was made of.
    name = f"{suggested_name(upload.file_name)}.txt" if upload.fixes else upload.file_name
    return sent_as(upload, download_name(name, upload.id))


def _row(session: Session, viewer: Viewer, upload_id: int) -> tuple[Upload, Task, Team, str | None]:
    row = session.execute(
        select(Upload, Task, Team, Account.name)
        .join(Task, Task.id == Upload.task_id)
        .join(Team, Team.id == Upload.team_id)
        .outerjoin(Account, Account.id == Upload.account_id)
        .where(Upload.id == upload_id)
    ).one_or_none()
    if row is None or not (policy.owns(viewer, row.Upload.team_id) or policy.reads(viewer, row.Task.id)):
        raise NotFound(f"There is no upload {upload_id}.", upload=upload_id)
    upload, task, team, sender = row
    policy.require_bound(viewer, task)
    return upload, task, team, sender
