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
from leaderboard.tables.record import Column, Table, columns_from

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

    @property
    def problems(self) -> int:
        """How many its check found."""
        return len((self.upload.report or {}).get("problems", ()))


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
        Column("grade", lambda row: row[0], "Grade", digits=0),
        Column("judgments", lambda row: row[1], "Judgments", digits=0),
        Column(
            "share",
            lambda row: row[1] / judgments,
            "Share",
            words=lambda row: f"{row[1] / judgments:.1%}",
            digits=3,
        ),
    ]
    rows = list(page.overview.grades.items())
    return Table("grades", "Judgments by grade", columns, rows)


def revisions(page: DeskPage) -> Table[AddedRevision]:
    """The revisions of the board's judgments, newest first."""
    columns = columns_from(
        AddedRevision,
        Column("number", lambda row: row.revision.number, "Revision", digits=0),
        "revision.note revision.judgments",
        Column("file", lambda row: row.revision.file_name, "File"),
        Column("added", lambda row: row.revision.created_at, "Added"),
    )
    return Table("revisions", "Qrels revisions", columns, page.revisions)


def runs(page: DeskPage) -> Table[RunRow]:
    """All runs by name, withdrawn ones too."""
    columns = columns_from(
        RunRow,
        "name run_id team",
        Column("kind", lambda row: row.kind, "Kind"),
        "state.state",
        Column("withdraw", lambda row: row.run_id, "Withdraw"),
    )
    return Table("runs", f"Runs: {len(page.runs)}", columns, page.runs)


def uploads(page: DeskPage) -> Table[SentUpload]:
    """Uploads, newest first."""
    columns = columns_from(
        SentUpload,
        Column("file", lambda row: row.upload.file_name, "File"),
        Column("name", lambda row: row.upload.wishes["name"], "Wanted as"),
        "team",
        Column("sent", lambda row: row.upload.created_at, "Sent"),
        "upload.state",
        "problems",
    )
    caption = "Uploads, newest first, rejected ones too"
    return Table("uploads", caption, columns, page.uploads)


def failed(page: DeskPage) -> Table[FailedJob]:
    """Work that was given up."""
    columns = columns_from(FailedJob, "kind subject attempts message id")
    caption = (
        "Work that failed: it keeps a new revision from being shown until it is done or its run withdrawn"
    )
    return Table("failed", caption, columns, page.failed)


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
