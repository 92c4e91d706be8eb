"""Fixes of an upload: a new upload made of the one that was sent, which is kept."""

from collections.abc import Iterator, Sequence
from hashlib import sha256

from sqlalchemy import select
from sqlalchemy.orm import Session

from leaderboard.checksums import compressor, framed
from leaderboard.db.engine import Database, lock_row, now
from leaderboard.db.tables import Task, Upload, UploadChunk
from leaderboard.errors import Conflict, Invalid, NotFound, Problem, TooLarge
from leaderboard.services import audit, policy
from leaderboard.services.jobs import queue
from leaderboard.services.policy import Viewer
from leaderboard.services.runs import admission, limits, uploads
from leaderboard.services.runs.admission import RunRequest
from leaderboard.services.runs.files import StoredFile
from leaderboard.services.runs.prepare import CHUNK_BYTES
from leaderboard.services.runs.uploads import Submission
from leaderboard.trec.read.archives import Limits
from leaderboard.trec.runs.fixes import FIXES, Fixing, fixed
from leaderboard.trec.runs.packing import PackedBlocks
from leaderboard.trec.runs.reports import Report

FIXABLE = ("rejected", "held")
NOTHING = sha256().hexdigest()
"""The digest of a file that is still to be written."""


def offered(session: Session, upload: Upload) -> tuple[str, ...]:
    """The fixes that can be applied to an upload now, in the order in which they are."""
    report = uploads.report_of(upload)
    if report is None or upload.state not in FIXABLE or not is_kept(session, upload.id):
        return ()
    return tuple(name for name in FIXES if name in report.fixes)


def is_kept(session: Session, upload_id: int) -> bool:
    """Whether the file of an upload is stored."""
    piece = select(UploadChunk.number).where(UploadChunk.upload_id == upload_id, UploadChunk.number == 0)
    return session.scalar(piece) is not None


def ask(session: Session, viewer: Viewer, upload_id: int, names: Sequence[str]) -> Submission:
    """Queue an upload with fixes applied; a held one makes room for it. What was asked before is given again.

    Raises NotFound for all but its team and the organisers, Invalid for fixes that are not offered, and what
    sending a file raises.
    """
    upload, task = _own(session, viewer, upload_id)
    # Team and account come first, as wherever files are counted.
    limits.hold(session, upload.team_id, viewer.account_id)
    lock_row(session, Upload, upload.id)
    session.refresh(upload)
    chosen = [name for name in FIXES if name in names]
    wanted = [{"fix": name, "lines": 0} for name in chosen]
    made = select(Upload).where(Upload.fixed_from_id == upload.id).order_by(Upload.id.desc())
    earlier = session.scalars(made).first()
    if earlier is not None and [each["fix"] for each in earlier.fixes] == chosen:
        return Submission(earlier.id, None, earlier.state, uploads.report_of(earlier))
    possible = offered(session, upload)
    if not chosen or not set(names) <= set(possible):
        raise Invalid("Choose a fix that is offered for this file.")
    if upload.state == "held":
        upload.state = "rejected"
        upload.report = Report((Problem("It was replaced by a file with fixes."),)).as_json()
        session.flush()
    wishes = RunRequest(**upload.wishes)
    admission.admit(session, viewer, task.slug, upload.team_id, wishes, any_team=True)
    new = Upload(
        task_id=upload.task_id,
        phase_id=upload.phase_id,
        team_id=upload.team_id,
        account_id=viewer.account_id,
        file_name=upload.file_name,
        sha256=NOTHING,
        bytes=0,
        idempotency_key=None,
        state="received",
        # What was fixed is not what a runner sent.
        wishes={**upload.wishes, "execution": {}, "filed": not policy.owns(viewer, upload.team_id)},
        batch_id=upload.batch_id,
        fixed_from_id=upload.id,
        fixes=wanted,
        created_at=now(session),
    )
    session.add(new)
    session.flush()
    if new.batch_id is None:
        uploads.queue_check(session, new)
    else:
        # Its sender looks at one file of the batch, and waits for it.
        queue.enqueue(session, queue.CHECK, new.id, priority=queue.FRESH)
    audit.record(session, viewer, "upload.fix", f"upload:{new.id}", fixed_from=upload.id, fixes=chosen)
    return Submission(new.id, None, new.state, None)


def _own(session: Session, viewer: Viewer, upload_id: int) -> tuple[Upload, Task]:
    """An upload and its task, for its team and the task's organisers; NotFound for all others."""
    row = session.execute(
        select(Upload, Task).join(Task, Task.id == Upload.task_id).where(Upload.id == upload_id)
    ).one_or_none()
    if row is None or not (policy.owns(viewer, row[0].team_id) or policy.organises(viewer, row[1].id)):
        raise NotFound(f"There is no upload {upload_id}.", upload=upload_id)
    policy.require_bound(viewer, row[1])
    return row[0], row[1]


def apply(database: Database, upload_id: int, reading: Limits) -> Report | None:
    """Write the file of an upload that is to be fixed, once; a report where it cannot be written."""
    with database.read() as session:
        upload = session.get(Upload, upload_id)
        if upload is None or upload.fixed_from_id is None or is_kept(session, upload_id):
            return None
        task = session.get_one(Task, upload.task_id)
        rules = admission.check_rules(session, upload_id).checks
        fixing = Fixing(rules, [each["fix"] for each in upload.fixes], task.dialect)
        source = StoredFile(database, upload.fixed_from_id)
    pieces, digest, size = PackedBlocks(), sha256(), 0
    frames = compressor(1)
    try:
        for piece in _pieces(fixed(source, fixing, reading)):
            digest.update(piece)
            size += len(piece)
            pieces.append(framed(b"", frames.compress(piece)))
    except Invalid as error:
        return Report(error.problems or (Problem(error.message),))
    except TooLarge as error:
        return Report((Problem(error.message),))
    with database.write() as session:
        _store(session, upload_id, pieces, fixing, digest.hexdigest(), size)
    return None


def _pieces(lines: Iterator[bytes]) -> Iterator[bytes]:
    """The lines in pieces of about a megabyte."""
    waiting, size = [], 0
    for line in lines:
        waiting.append(line)
        size += len(line)
        if size >= CHUNK_BYTES:
            yield b"".join(waiting)
            waiting, size = [], 0
    if waiting:
        yield b"".join(waiting)


def _store(
    session: Session, upload_id: int, pieces: PackedBlocks, fixing: Fixing, digest: str, size: int
) -> None:
    # An evaluator whose lease ran out may have written it in the meantime.
    lock_row(session, Upload, upload_id)
    upload = session.get_one(Upload, upload_id)
    if is_kept(session, upload_id):
        raise Conflict(f"Upload {upload_id} was written by another evaluator.")
    uploads.add_pieces(session, upload_id, pieces)
    upload.sha256, upload.bytes, upload.fixes = digest, size, fixing.log()
