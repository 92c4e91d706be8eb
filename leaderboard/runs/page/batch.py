"""Files that were sent together: one table of verdicts, and how many are still to be checked."""

from collections import Counter
from dataclasses import dataclass
from typing import Annotated, Any

from sqlalchemy import select
from sqlalchemy.orm import Session

from leaderboard.core import policy
from leaderboard.core.jobs import queue
from leaderboard.core.policy import Viewer
from leaderboard.db.tables import Job, Run, Team, Upload, UploadBatch
from leaderboard.errors import Problem
from leaderboard.runs.ops import batches
from leaderboard.runs.ops.uploads import report_of
from leaderboard.scoring.ops.scored_topics import OfTask
from leaderboard.tables.record import Column, Files, Place, Shown, Table, columns_from

WAITING, HELD, ACCEPTED, REJECTED, REFUSED, FAILED = (
    "waiting",
    "held",
    "accepted",
    "rejected",
    "not taken",
    "check failed",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchRow:
    """One file of a batch; upload_id and run_id are None if absent."""

    file: str
    name: str = ""
    team: str = ""
    kind: str = ""
    verdict: str
    problems: Annotated[int, Shown(shown=Place.DATA)] = 0
    warnings: Annotated[int, Shown(shown=Place.DATA)] = 0
    says: str = ""
    """The first problem or warning in a line."""
    upload_id: Annotated[int | None, Shown(key="upload", shown=Place.DATA)] = None
    run_id: Annotated[int | None, Shown(shown=Place.DATA)] = None


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchPage(OfTask):
    """A batch as its sender and the organisers see it."""

    batch: UploadBatch
    rows: tuple[BatchRow, ...]
    counts: dict[str, int]
    """Verdict -> number of files."""
    is_open: bool
    """Whether the viewer can still submit or discard held files."""

    @property
    def waiting(self) -> int:
        """The number of files waiting to be checked."""
        return self.counts.get(WAITING, 0)


def batch_page(session: Session, viewer: Viewer, batch_id: int) -> BatchPage:
    """A batch with a verdict for each file; NotFound for all but its sender and the organisers."""
    batch, task = batches.own_batch(session, viewer, batch_id)
    rows = (*_uploads(session, batch), *(_refused(name, problem) for name, problem in batches.refused(batch)))
    return BatchPage(
        of=task,
        batch=batch,
        rows=rows,
        counts=dict(Counter(row.verdict for row in rows)),
        is_open=batch.account_id == viewer.account_id or policy.organises(viewer, task.id),
    )


def _uploads(session: Session, batch: UploadBatch) -> list[BatchRow]:
    rows = session.execute(
        select(Upload, Team.name, Run.id)
        .join(Team, Team.id == Upload.team_id)
        .outerjoin(Run, Run.upload_id == Upload.id)
        .where(Upload.batch_id == batch.id)
        .order_by(Upload.id)
    ).all()
    of_batch = select(Upload.id).where(Upload.batch_id == batch.id)
    failed = set(
        session.scalars(
            select(Job.subject_id).where(
                Job.kind == queue.CHECK, Job.state == "failed", Job.subject_id.in_(of_batch)
            )
        )
    )
    return [_row(upload, team, run_id, upload.id in failed) for upload, team, run_id in rows]


def _row(upload: Upload, team: str, run_id: int | None, has_failed: bool) -> BatchRow:
    report = report_of(upload) if upload.state != "received" else None
    problems = (*report.problems, *report.warnings) if report else ()
    waiting = FAILED if has_failed else WAITING
    return BatchRow(
        file=upload.file_name,
        name=upload.wishes["name"],
        team=team,
        kind=upload.wishes["kind"],
        verdict=waiting if upload.state == "received" else upload.state,
        problems=len(report.problems) if report else 0,
        warnings=len(report.warnings) if report else 0,
        says=str(problems[0]) if problems else "",
        upload_id=upload.id,
        run_id=run_id,
    )


def _refused(name: str, problem: Problem) -> BatchRow:
    return BatchRow(file=name, verdict=REFUSED, problems=1, says=str(problem))


def table(page: BatchPage) -> Table[BatchRow]:
    """The files of a batch, those needing action first."""
    order = {FAILED: 0, REFUSED: 1, REJECTED: 2, HELD: 3, WAITING: 4, ACCEPTED: 5}
    columns = columns_from(
        BatchRow,
        "file verdict",
        Column("says", lambda row: row.says or None, "Why"),
        Column("run", lambda row: row.name or None, "Run"),
        Column("team", lambda row: row.team or None, "Team"),
        Column("kind", lambda row: row.kind or None, "Kind"),
        "problems warnings upload_id run_id",
    )
    rows = sorted(page.rows, key=lambda row: order[row.verdict])
    return Table("files", "Submitted files and verdicts", columns, rows)


def facts(page: BatchPage) -> dict[str, Any]:
    """The batch as JSON."""
    return {
        "batch": page.batch.id,
        "task": page.slug,
        "created_at": page.batch.created_at.isoformat(),
        "counts": page.counts,
        "files": table(page).facts(),
    }


FILES: Files[BatchPage] = Files(facts, {"files": table})
