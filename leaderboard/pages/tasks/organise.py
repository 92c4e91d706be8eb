"""What a task's organisers see of it besides the board: revisions, uploads, runs, failed work."""

from dataclasses import dataclass
from datetime import datetime
from typing import Annotated

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
from leaderboard.tables.record import Column, Shown, Table, columns_from

MOST_UPLOADS = 500
"""Uploads listed, newest first."""


@dataclass(frozen=True, slots=True)
class RevisionRow:
    """One qrels revision."""

    number: Annotated[int, Shown("Revision")]
    note: str
    file_name: Annotated[str, Shown(key="file")]
    judgments: int
    created_at: Annotated[datetime, Shown(key="added")]
    created_by: str


@dataclass(frozen=True, slots=True)
class UploadRow:
    """One upload, whatever became of it."""

    id: int
    team: str
    sender: str
    file_name: Annotated[str, Shown(key="file")]
    name: Annotated[str, Shown("Wanted as")]
    state: str
    problems: int
    created_at: Annotated[datetime, Shown(key="sent")]


@dataclass(frozen=True, slots=True, kw_only=True)
class RunRow(RunName):
    """One run with where it is on its way to scores."""

    state: RunState


@dataclass(frozen=True, slots=True)
class DeskPage:
    """A task's organise page."""

    overview: TaskOverview
    revisions: tuple[RevisionRow, ...]
    uploads: tuple[UploadRow, ...]
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


def revisions(page: DeskPage) -> Table[RevisionRow]:
    """The revisions of the board's judgments, newest first."""
    columns = columns_from(RevisionRow, "number note judgments file_name created_at")
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


def uploads(page: DeskPage) -> Table[UploadRow]:
    """Uploads, newest first."""
    columns = columns_from(UploadRow, "file_name name team created_at state problems")
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


def _revisions(session: Session, task_id: int) -> tuple[RevisionRow, ...]:
    rows = session.execute(
        select(QrelsRevision, Account.name)
        .join(Qrels, Qrels.id == QrelsRevision.qrels_id)
        .outerjoin(Account, Account.id == QrelsRevision.created_by)
        .where(Qrels.task_id == task_id, Qrels.name == MAIN)
        .order_by(QrelsRevision.number.desc())
    )
    return tuple(
        RevisionRow(
            number=revision.number,
            note=revision.note,
            file_name=revision.file_name,
            judgments=revision.judgments,
            created_at=revision.created_at,
            created_by=name or "",
        )
        for revision, name in rows
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
            id=upload.id,
            team=team,
            sender=sender or "",
            file_name=upload.file_name,
            name=upload.wishes["name"],
            state=upload.state,
            problems=len((upload.report or {}).get("problems", ())),
            created_at=upload.created_at,
        )
        for upload, team, sender in rows
    )


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
