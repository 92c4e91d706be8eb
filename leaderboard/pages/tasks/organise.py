"""What a task's organisers see of it besides the board: revisions, uploads, runs, failed work."""

from dataclasses import dataclass

from sqlalchemy import select
from sqlalchemy.orm import Session

from leaderboard.db.tables import Account, Qrels, QrelsRevision, Run, Team, Upload
from leaderboard.pages.tasks import entries
from leaderboard.pages.tasks.overviews import TaskOverview, overview
from leaderboard.services import policy
from leaderboard.services.jobs import failed as failed_jobs
from leaderboard.services.jobs import queue
from leaderboard.services.jobs.failed import FailedJob
from leaderboard.services.jobs.queue import RunState
from leaderboard.services.policy import Viewer
from leaderboard.services.qrels.judged_inputs import MAIN
from leaderboard.services.runs.names import RunName
from leaderboard.services.tasks import changes, dates, phases
from leaderboard.tables.record import Column, Place, Table

MOST_UPLOADS = 500
"""Uploads listed, newest first."""


@dataclass(frozen=True, slots=True)
class AddedRevision:
    """One qrels revision, with the name of who added it."""

    revision: QrelsRevision
    by: str | None


@dataclass(frozen=True, slots=True)
class SentUpload:
    """One upload, whatever became of it, with the names of its team and of who sent it."""

    upload: Upload
    team: str
    sender: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class RunRow(RunName):
    """One run with where it is on its way to scores."""

    state: RunState


@dataclass(frozen=True, slots=True)
class DeskPage:
    """A task's organise page."""

    overview: TaskOverview
    revisions: tuple[AddedRevision, ...]
    uploads: tuple[SentUpload, ...]
    runs: tuple[RunRow, ...]
    failed: tuple[FailedJob, ...]
    waiting_teams: int
    """How many teams wait for a yes before they enter."""
    dates_stamp: str
    """What tells later whether its dates are still as they were shown."""


def desk(session: Session, viewer: Viewer, slug: str) -> DeskPage:
    """Everything about one task; raises NotFound or Forbidden unless the viewer organises it."""
    task = policy.own_task(session, viewer, slug, policy.reads)
    return DeskPage(
        overview=overview(session, viewer, slug),
        revisions=_revisions(session, task.id),
        uploads=_uploads(session, task.id),
        runs=_runs(session, viewer, task.id),
        failed=failed_jobs.of_task(session, task.id),
        waiting_teams=entries.waiting(session, task.id),
        dates_stamp=changes.stamp(dates.described(phases.of_task(session, task.id)[0])),
    )


def grades(page: DeskPage) -> Table[tuple[int, int]]:
    """Judgments by grade."""
    judgments = page.overview.judgments
    columns: list[Column[tuple[int, int]]] = [
        Column(key="grade", head="Grade", value=lambda row: row[0], digits=0),
        Column(key="judgments", head="Judgments", value=lambda row: row[1], digits=0),
        Column(
            key="share",
            head="Share",
            value=lambda row: row[1] / judgments,
            words=lambda row: f"{row[1] / judgments:.1%}",
            digits=3,
        ),
    ]
    rows = list(page.overview.grades.items())
    return Table(name="grades", caption="Judgments by grade", columns=columns, rows=rows)


def revisions(page: DeskPage) -> Table[AddedRevision]:
    """The revisions of the board's judgments, newest first."""
    columns: list[Column[AddedRevision]] = [
        Column(key="number", head="Revision", value=lambda row: row.revision.number, digits=0),
        Column(key="note", head="Note", value=lambda row: row.revision.note),
        Column(key="judgments", head="Judgments", value=lambda row: row.revision.judgments, digits=0),
        Column(key="file", head="File", value=lambda row: row.revision.file_name),
        Column(key="added", head="Added", value=lambda row: row.revision.created_at),
    ]
    return Table(name="revisions", caption="Qrels revisions", columns=columns, rows=page.revisions)


def runs(page: DeskPage) -> Table[RunRow]:
    """All runs by name, withdrawn ones too."""
    columns: list[Column[RunRow]] = [
        Column(key="run", head="Run", value=lambda row: row.name),
        Column(key="run_id", value=lambda row: row.run_id, shown=Place.DATA),
        Column(key="team", head="Team", value=lambda row: row.team),
        Column(key="kind", head="Kind", value=lambda row: row.kind),
        Column(key="state", head="State", value=lambda row: row.state.state),
        Column(key="withdraw", head="Withdraw", value=lambda row: row.run_id),
    ]
    return Table(name="runs", caption=f"Runs: {len(page.runs)}", columns=columns, rows=page.runs)


def uploads(page: DeskPage) -> Table[SentUpload]:
    """Uploads, newest first."""
    columns: list[Column[SentUpload]] = [
        Column(key="file", head="File", value=lambda row: row.upload.file_name),
        Column(key="name", head="Wanted as", value=lambda row: row.upload.wishes["name"]),
        Column(key="team", head="Team", value=lambda row: row.team),
        Column(key="sent", head="Sent", value=lambda row: row.upload.created_at),
        Column(key="state", head="State", value=lambda row: row.upload.state),
        Column(
            key="problems",
            head="Problems",
            value=lambda row: len((row.upload.report or {}).get("problems", ())),
            digits=0,
        ),
    ]
    caption = "Uploads, newest first, rejected ones too"
    return Table(name="uploads", caption=caption, columns=columns, rows=page.uploads)


def failed(page: DeskPage) -> Table[FailedJob]:
    """Work that was given up."""
    columns: list[Column[FailedJob]] = [
        Column(key="kind", head="Work", value=lambda row: row.kind),
        Column(key="subject", head="On", value=lambda row: row.subject),
        Column(key="attempts", head="Attempts", value=lambda row: row.attempts, digits=0),
        Column(key="message", head="Message", value=lambda row: row.message),
        Column(key="again", head="Again", value=lambda row: row.id),
    ]
    caption = (
        "Work that failed: it keeps a new revision from being shown until it is done or its run withdrawn"
    )
    return Table(name="failed", caption=caption, columns=columns, rows=page.failed)


TABLES = {"failed": failed, "grades": grades, "revisions": revisions, "runs": runs, "uploads": uploads}


def _revisions(session: Session, task_id: int) -> tuple[AddedRevision, ...]:
    rows = session.execute(
        select(QrelsRevision, Account.name)
        .join(Qrels, Qrels.id == QrelsRevision.qrels_id)
        .outerjoin(Account, Account.id == QrelsRevision.created_by)
        .where(Qrels.task_id == task_id, Qrels.name == MAIN)
        .order_by(QrelsRevision.number.desc())
    )
    return tuple(AddedRevision(*row) for row in rows)


def _uploads(session: Session, task_id: int) -> tuple[SentUpload, ...]:
    rows = session.execute(
        select(Upload, Team.name, Account.name)
        .join(Team, Team.id == Upload.team_id)
        .outerjoin(Account, Account.id == Upload.account_id)
        .where(Upload.task_id == task_id)
        .order_by(Upload.id.desc())
        .limit(MOST_UPLOADS)
    )
    return tuple(SentUpload(*row) for row in rows)


def _runs(session: Session, viewer: Viewer, task_id: int) -> tuple[RunRow, ...]:
    rows = session.execute(
        select(Run.id, Run.name, Team.name, Run.kind, Team.id)
        .join(Team, Team.id == Run.team_id)
        .where(Run.task_id == task_id)
        .order_by(Run.name)
    ).all()
    states = queue.run_states(session, [row[0] for row in rows])
    return tuple(
        RunRow(
            run_id=run_id,
            name=name,
            team=team,
            kind=kind,
            is_own=policy.owns(viewer, team_id),
            state=states[run_id],
        )
        for run_id, name, team, kind, team_id in rows
    )
