"""Many files sent together: planned as a whole, then each a separate upload with its own verdict.

What cannot be an upload, a file of no team for instance, is kept with the batch as a sentence. A batch that
is sent again, because its answer was lost, continues where it stopped.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import timedelta
from typing import Any

from sqlalchemy import delete, func, select
from sqlalchemy.orm import Session

from leaderboard.accounts.ops import names, teams
from leaderboard.core import audit, policy
from leaderboard.core.jobs import queue
from leaderboard.core.policy import Viewer
from leaderboard.db.engine import Database, lock_row, now
from leaderboard.db.tables import Phase, Task, Team, Upload, UploadBatch, UploadChunk
from leaderboard.errors import Invalid, LeaderboardError, NotFound, OverQuota, Problem
from leaderboard.runs.ops import limits, prepare, uploads
from leaderboard.runs.ops.prepare import BY_FOLDER, BY_LIST, BatchPlan, BatchRequest
from leaderboard.runs.ops.uploads import Delivery

MOST_WAITING = 500
"""Maximum files per account waiting to be checked before it can submit another batch; none for organisers."""
HELD_FOR = timedelta(days=7)
"""Time that valid files wait for their sender's decision, and rejected ones for a fix."""


@dataclass(frozen=True, slots=True)
class OpenBatch:
    """A batch that accepts files: its id, and the teams that they are for."""

    id: int
    team_ids: Mapping[str, int]


def begin(
    session: Session,
    viewer: Viewer,
    slug: str,
    batch_request: BatchRequest,
    planned: BatchPlan,
    key: str | None,
) -> OpenBatch:
    """Create a batch, or return the one created under this key.

    Raises Forbidden if anyone but an organiser files runs for others, Invalid with the teams that
    are missing, unless they are to be created; OverQuota while many files of the account wait.
    """
    task, _ = policy.visible_task(session, viewer, slug)
    if batch_request.team in (BY_LIST, BY_FOLDER):
        policy.require_organiser(viewer, task)
        team_ids = _teams(session, viewer, task, planned.teams, batch_request.makes_teams)
    else:
        assert isinstance(batch_request.team, int), "a team for all files is one of the sender's"
        limits.rules_for(session, viewer, slug, batch_request.team, batch_request.phase)
        team_ids = {"": batch_request.team}
    if (earlier := _earlier(session, key)) is not None:
        return OpenBatch(earlier, team_ids)
    is_slow = not policy.organises(viewer, task.id) and _is_slow(session, viewer)
    batch = UploadBatch(
        task_id=task.id,
        account_id=viewer.account_id,
        wishes={
            "names": batch_request.names_from,
            "team": batch_request.team,
            "kind": batch_request.kind,
            "hold": batch_request.holds,
            "slow": is_slow,
            "refused": [{"file": name, **asdict(problem)} for name, problem in planned.refused],
        },
        created_at=now(session),
    )
    session.add(batch)
    session.flush()
    audit.record(session, viewer, "batch.send", f"batch:{batch.id}", files=len(planned.files))
    return OpenBatch(batch.id, team_ids)


def _earlier(session: Session, key: str | None) -> int | None:
    return (
        session.scalar(select(Upload.batch_id).where(Upload.idempotency_key == f"{key}:0")) if key else None
    )


def _is_slow(session: Session, viewer: Viewer) -> bool:
    """Whether a batch is checked after all else, as too many files of its sender were rejected.

    Raises OverQuota while many files of the account wait; after too many rejected ones while any does.
    """
    is_slow = limits.rejections_left(session, viewer.account_id) == 0
    waiting = select(func.count(Upload.id)).where(
        Upload.account_id == viewer.account_id, Upload.state == "received"
    )
    count = session.scalar(waiting) or 0
    if is_slow and count:
        raise OverQuota(f"{limits.TAKES_TURNS}. Submit this batch once your earlier files are checked.")
    if count >= MOST_WAITING:
        raise OverQuota(
            f"You have {MOST_WAITING} files waiting to be checked. Submit more once they are checked."
        )
    return is_slow


def _teams(
    session: Session, viewer: Viewer, task: Task, team_names: Sequence[str], makes: bool
) -> dict[str, int]:
    """The ids of teams by the names in a list or of folders; those that are missing are made, or refused."""
    canonical = {name: names.canonical(names.displayed(name, "a team")) for name in team_names}
    rows = session.execute(select(Team.canonical, Team.id).where(Team.canonical.in_(canonical.values())))
    team_ids = {canonical: team_id for canonical, team_id in rows}
    missing = [name for name in team_names if canonical[name] not in team_ids]
    if missing and not makes:
        problems = [
            Problem("There is no team with this name.", "", field="team", value=name) for name in missing
        ]
        raise Invalid(
            f"{len(missing)} of the teams do not exist on this site; nothing was stored. Correct their "
            "names, or choose to create missing teams.",
            problems,
        )
    for name in missing:
        team_ids[canonical[name]] = teams.ensure(session, viewer, name, task.id)
    return {name: team_ids[canonical[name]] for name in team_names}


def receive(
    database: Database, viewer: Viewer, slug: str, opened: OpenBatch, planned: BatchPlan, key: str | None
) -> None:
    """Store the files one by one, each in its own transaction with the job that checks it.

    A refused file, for instance by a quota, is kept as a verdict of the batch and does not stop the others.
    """
    for place, file_request in enumerate(planned.files):
        file = prepare.unchecked(file_request.path, file_request.file_name)
        delivery = Delivery(
            sender=viewer,
            slug=slug,
            team_id=opened.team_ids[file_request.team],
            file=file,
            run_request=file_request.run,
            key=f"{key}:{place}" if key else None,
            batch_id=opened.id,
        )
        try:
            with database.write() as session:
                uploads.receive(session, delivery)
        except LeaderboardError as error:
            with database.write() as session:
                problems = error.problems if isinstance(error, Invalid) else ()
                _refuse(
                    session,
                    opened.id,
                    file_request.file_name,
                    problems[0] if problems else Problem(error.message),
                )


def _refuse(session: Session, batch_id: int, file_name: str, problem: Problem) -> None:
    lock_row(session, UploadBatch, batch_id)
    batch = session.get_one(UploadBatch, batch_id)
    verdict = {"file": file_name, **asdict(problem)}
    if verdict not in batch.wishes["refused"]:
        batch.wishes = {**batch.wishes, "refused": [*batch.wishes["refused"], verdict]}


def own_batch(session: Session, viewer: Viewer, batch_id: int) -> tuple[UploadBatch, Task]:
    """A batch and its task, for its sender and the task's organisers; NotFound for all others."""
    row = session.execute(
        select(UploadBatch, Task).join(Task, Task.id == UploadBatch.task_id).where(UploadBatch.id == batch_id)
    ).one_or_none()
    if row is not None:
        batch, task = row
        is_sender = viewer.account_id is not None and batch.account_id == viewer.account_id
        if is_sender or policy.organises(viewer, task.id):
            return batch, task
    raise NotFound(f"There is no batch {batch_id}.", batch=batch_id)


def send_held(session: Session, viewer: Viewer, batch_id: int) -> int:
    """Submit the held files: they are checked again and become runs; returns their number.

    Raises Closed where the task no longer accepts runs.
    """
    batch, task = own_batch(session, viewer, batch_id)
    lock_row(session, UploadBatch, batch.id)
    held_uploads = _held_uploads(session, batch.id)
    for phase_id in {upload.phase_id for upload in held_uploads}:
        limits.require_taken(session, viewer, task, session.get_one(Phase, phase_id).name)
    if not policy.organises(viewer, task.id):
        for team_id in {upload.team_id for upload in held_uploads}:
            policy.require_member(viewer, team_id)
    for upload in held_uploads:
        upload.state = "received"
        queue.enqueue(session, queue.CHECK, upload.id, priority=queue.FRESH)
    audit.record(session, viewer, "batch.send_held", f"batch:{batch.id}", files=len(held_uploads))
    return len(held_uploads)


def drop_held(session: Session, viewer: Viewer, batch_id: int) -> int:
    """Discard the held files; returns their number."""
    batch, _ = own_batch(session, viewer, batch_id)
    lock_row(session, UploadBatch, batch.id)
    held_uploads = _held_uploads(session, batch.id)
    for upload in held_uploads:
        uploads.reject(session, upload, "Discarded by its sender after review.")
    audit.record(session, viewer, "batch.drop_held", f"batch:{batch.id}", files=len(held_uploads))
    return len(held_uploads)


def _held_uploads(session: Session, batch_id: int) -> Sequence[Upload]:
    statement = select(Upload).where(Upload.batch_id == batch_id, Upload.state == "held").order_by(Upload.id)
    return session.scalars(statement.with_for_update()).all()


def expire(session: Session) -> None:
    """Discard files that waited a week for their sender: held ones, and rejected ones kept for a fix.

    What waits for the organisers, an agent's, does so until they have decided.
    """
    is_old = Upload.checked_at < now(session) - HELD_FOR
    expired = select(Upload).where(is_old, Upload.state == "held", Upload.batch_id.is_not(None))
    # One that its sender sends in this moment is not waited for, and not dropped.
    for upload in session.scalars(expired.with_for_update(skip_locked=True)).all():
        uploads.reject(session, upload, "Held for a week and not submitted.")
    session.flush()
    fixed = select(Upload.fixed_from_id).where(Upload.fixed_from_id.is_not(None))
    rejected = select(Upload.id).where(is_old, Upload.state == "rejected", Upload.id.not_in(fixed))
    session.execute(delete(UploadChunk).where(UploadChunk.upload_id.in_(rejected)))


def refused(batch: UploadBatch) -> Iterator[tuple[str, Problem]]:
    """The files of a batch that did not become uploads, and why."""
    stored: list[dict[str, Any]] = batch.wishes["refused"]
    for refusal in stored:
        facts = {key: value for key, value in refusal.items() if key != "file"}
        yield refusal["file"], Problem(**{**facts, "examples": tuple(facts["examples"])})
