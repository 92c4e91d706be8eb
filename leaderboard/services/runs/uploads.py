"""A run file on its way in: rules, check without a session, then one transaction that stores or rejects."""

from collections.abc import Iterable
from dataclasses import asdict, dataclass, replace
from datetime import datetime
from itertools import islice
from typing import Any

from sqlalchemy import delete, insert, select
from sqlalchemy.orm import Session

from leaderboard.db.engine import now
from leaderboard.db.tables import (
    Account,
    Entry,
    Phase,
    RankingBlock,
    RankingIndex,
    Run,
    Task,
    Team,
    Upload,
    UploadChunk,
)
from leaderboard.errors import Conflict, Invalid, NotFound, Problem
from leaderboard.services import audit, policy
from leaderboard.services.evaluations import editions
from leaderboard.services.jobs import queue
from leaderboard.services.jobs.queue import RunState
from leaderboard.services.policy import Viewer
from leaderboard.services.runs import admission, facts, prepare
from leaderboard.services.runs.admission import Wishes
from leaderboard.services.runs.prepare import PreparedUpload
from leaderboard.services.statistics import requests
from leaderboard.trec.runs.check import Report

BATCH = 32
"""Rows of up to a megabyte each that are added with one statement."""


@dataclass(frozen=True, slots=True)
class Submission:
    """What became of an upload: state is received, accepted or rejected."""

    upload_id: int
    run_id: int | None
    state: str
    report: Report | None


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


def submit(
    session: Session,
    viewer: Viewer,
    slug: str,
    team_id: int,
    prepared: PreparedUpload,
    wishes: Wishes,
    *,
    idempotency_key: str | None = None,
) -> Submission:
    """Store a checked file: an accepted one as a run with its jobs, a rejected one as its report only.

    Deadline, limits and the run's name are checked here, inside the transaction. A key seen before
    gives the submission it made. Raises Closed, OverQuota, Conflict for a key used for another
    file; Forbidden unless the viewer is in the team.
    """
    earlier = _earlier(session, idempotency_key, prepared.sha256)
    if earlier is not None:
        return earlier
    task, team, phase = admission.admit(session, viewer, slug, team_id, wishes)
    upload = _new_upload(session, viewer, task, team, prepared, wishes, idempotency_key)
    return _decide(session, viewer, task, phase, upload, prepared, wishes)


def receive(
    session: Session,
    viewer: Viewer,
    slug: str,
    team_id: int,
    stored: PreparedUpload,
    wishes: Wishes,
    *,
    idempotency_key: str | None = None,
) -> Submission:
    """Keep a large file as it came and queue its check; raises as `submit` does."""
    earlier = _earlier(session, idempotency_key, stored.sha256)
    if earlier is not None:
        return earlier
    task, team, _ = admission.admit(session, viewer, slug, team_id, wishes)
    upload = _new_upload(session, viewer, task, team, stored, wishes, idempotency_key)
    _add_chunks(session, upload.id, stored)
    queue.enqueue(session, queue.CHECK, upload.id, priority=queue.FRESH)
    return Submission(upload.id, None, upload.state, None)


def stored(session: Session, upload_id: int) -> tuple[str, str, int]:
    """A stored upload's file name as sent, SHA-256 and size; raises NotFound where it is gone."""
    upload = session.get(Upload, upload_id)
    if upload is None:
        raise NotFound(f"There is no upload {upload_id}.")
    return upload.file_name, upload.sha256, upload.bytes


def decide(session: Session, upload_id: int, prepared: PreparedUpload) -> Submission:
    """Accept or reject a received upload once it was checked; one decided before stays as it is."""
    upload = session.get_one(Upload, upload_id)
    if upload.state != "received":
        run_id = session.scalar(select(Run.id).where(Run.upload_id == upload_id))
        return Submission(upload_id, run_id, upload.state, _report(upload))
    task = session.get_one(Task, upload.task_id)
    phase = admission.phase_of(session, task)
    return _decide(
        session, policy.OPERATOR, task, phase, upload, prepared, Wishes(**upload.wishes), chunks=False
    )


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
    wishes = Wishes(**upload.wishes)
    return UploadPage(
        id=upload.id,
        task_slug=task.slug,
        task_name=task.name,
        team=team.name,
        sender=sender or "",
        file_name=upload.file_name,
        sha256=upload.sha256,
        size=upload.bytes,
        name=wishes.name,
        kind=wishes.kind,
        state=upload.state,
        report=_report(upload),
        run_id=session.scalar(select(Run.id).where(Run.upload_id == upload.id)),
        progress=queue.check_position(session, upload.id),
        created_at=upload.created_at,
        checked_at=upload.checked_at,
    )


def withdraw(session: Session, viewer: Viewer, run_id: int, why: str) -> None:
    """Take a run off the board, for good and with a reason; its file and scores are kept.

    Raises Conflict where it is withdrawn already, Forbidden unless the team or an organiser asks.
    """
    run, task, _ = policy.visible_run(session, viewer, run_id)
    if not policy.organises(viewer, task.id):
        policy.require_member(viewer, session.get_one(Team, run.team_id))
    if run.withdrawn_at is not None:
        raise Conflict(f"Run {run.name} is withdrawn already.")
    if not why.strip():
        raise Invalid("Say why the run is withdrawn; the reason stays on its page.")
    run.withdrawn_at, run.withdrawn_by, run.withdrawn_why = now(session), viewer.account_id, why.strip()
    session.flush()
    editions.drop_jobs(session, run.id)
    requests.prepare(session, task.id)
    audit.record(session, viewer, "run.withdraw", f"run:{run.id}", why=run.withdrawn_why)


def _earlier(session: Session, key: str | None, sha256: str) -> Submission | None:
    if key is None:
        return None
    upload = session.scalar(select(Upload).where(Upload.idempotency_key == key))
    if upload is None:
        return None
    if upload.sha256 != sha256:
        raise Conflict("This form was sent before with another file; open the form anew.")
    run_id = session.scalar(select(Run.id).where(Run.upload_id == upload.id))
    return Submission(upload.id, run_id, upload.state, _report(upload))


def _new_upload(
    session: Session,
    viewer: Viewer,
    task: Task,
    team: Team,
    stored: PreparedUpload,
    wishes: Wishes,
    key: str | None,
) -> Upload:
    upload = Upload(
        task_id=task.id,
        team_id=team.id,
        account_id=viewer.account_id,
        file_name=stored.file_name,
        sha256=stored.sha256,
        bytes=stored.size,
        idempotency_key=key,
        state="received",
        wishes=asdict(wishes),
        created_at=now(session),
    )
    session.add(upload)
    session.flush()
    return upload


def _decide(
    session: Session,
    viewer: Viewer,
    task: Task,
    phase: Phase,
    upload: Upload,
    prepared: PreparedUpload,
    wishes: Wishes,
    *,
    chunks: bool = True,
) -> Submission:
    report = _with_name_problem(session, task, wishes, prepared.report)
    upload.report, upload.checked_at = report.as_json(), now(session)
    if not report.accepted:
        upload.state = "rejected"
        if not chunks:
            _drop_chunks(session, upload.id)
        session.flush()
        return Submission(upload.id, None, upload.state, report)
    upload.state = "accepted"
    if chunks:
        _add_chunks(session, upload.id, prepared)
    run = _add_run(session, task, phase, upload, prepared, wishes)
    audit.record(session, viewer, "run.submit", f"run:{run.id}", name=run.name, sha256=upload.sha256)
    editions.queue_run(session, run)
    return Submission(upload.id, run.id, upload.state, report)


def _with_name_problem(session: Session, task: Task, wishes: Wishes, report: Report) -> Report:
    taken = session.scalar(select(Run.id).where(Run.task_id == task.id, Run.name == wishes.name))
    if taken is not None:
        rule, remedy = "is the name of another run of this task.", "Send the run under another name."
    elif not prepare.NAME.fullmatch(wishes.name):
        rule = (
            "must be 1 to 64 letters, digits, dots, hyphens or underscores, starting with a letter or digit."
        )
        remedy = f"For instance {prepare.suggested_name(wishes.name)}."
    else:
        return report
    problem = Problem(rule, remedy, field="run name", value=wishes.name[:80])
    return replace(report, problems=(problem, *report.problems))


def _add_run(
    session: Session, task: Task, phase: Phase, upload: Upload, prepared: PreparedUpload, wishes: Wishes
) -> Run:
    packed = prepared.run
    assert packed is not None, "an accepted file has a run"
    run = Run(
        upload_id=upload.id,
        task_id=task.id,
        phase_id=phase.id,
        team_id=upload.team_id,
        name=wishes.name,
        tag=packed.tag,
        kind=wishes.kind,
        description=wishes.description,
        details=facts.stored(packed.details, wishes.facts),
        topics=packed.topics,
        entries=packed.entries,
        deepest=packed.deepest,
        ranking_sha256=packed.digest,
        sketch=packed.sketch,
        order_differs=packed.order_differs,
        created_at=now(session),
    )
    session.add(run)
    session.flush()
    session.add(RankingIndex(run_id=run.id, body=packed.index))
    _insert(session, RankingBlock, {"run_id": run.id}, packed.blocks)
    _enter(session, task.id, upload.team_id)
    session.flush()
    return run


def _enter(session: Session, task_id: int, team_id: int) -> None:
    there = select(Entry.id).where(Entry.task_id == task_id, Entry.team_id == team_id)
    if session.scalar(there) is None:
        session.add(Entry(task_id=task_id, team_id=team_id, created_at=now(session)))


def _add_chunks(session: Session, upload_id: int, stored: PreparedUpload) -> None:
    _insert(session, UploadChunk, {"upload_id": upload_id}, stored.chunks())


def _insert(
    session: Session, table: type[RankingBlock | UploadChunk], owner: dict[str, int], bodies: Iterable[bytes]
) -> None:
    """Add numbered rows a few at a time: a large run's must not all be in memory."""
    numbered = enumerate(bodies)
    while rows := [{**owner, "number": number, "body": body} for number, body in islice(numbered, BATCH)]:
        session.execute(insert(table), rows)


def _drop_chunks(session: Session, upload_id: int) -> None:
    session.execute(delete(UploadChunk).where(UploadChunk.upload_id == upload_id))


def _report(upload: Upload) -> Report | None:
    stored: dict[str, Any] | None = upload.report
    return None if stored is None else Report.from_json(stored)
