"""Fixes of an upload: create a new upload from the original, which is kept."""

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from hashlib import sha256
from io import BufferedReader, RawIOBase
from tempfile import TemporaryFile
from typing import IO, Annotated, Any, Literal

import zstandard
from sqlalchemy import select
from sqlalchemy.orm import Session

from leaderboard.checksums import belonging_to, compressor, damaged, framed
from leaderboard.core import audit, policy
from leaderboard.core.actions import Action
from leaderboard.core.jobs import queue
from leaderboard.core.policy import Scope, Viewer
from leaderboard.db.engine import Database, lock_row, now
from leaderboard.db.tables import StoredObject, Task, Upload, UploadChunk
from leaderboard.errors import Conflict, Damaged, Invalid, NotFound, Problem, TooLarge
from leaderboard.fields import Field
from leaderboard.objects import ObjectStore, away
from leaderboard.runs.ops import limits, uploads
from leaderboard.runs.ops.limits import RunRequest
from leaderboard.runs.ops.prepare import CHUNK_BYTES, unpack_chunk
from leaderboard.runs.ops.uploads import Submission
from leaderboard.trec.read.archives import Limits
from leaderboard.trec.runs.check import Report
from leaderboard.trec.runs.fixes import FIXES, Fixing, fixed
from leaderboard.trec.runs.packing import PackedBlocks


@dataclass(frozen=True, slots=True)
class StoredFile:
    """An upload's bytes; reads one piece at a time, each in a transaction of its own.

    Reading raises StoreAway where the file is in an object store that does not answer.
    """

    database: Database
    upload_id: int

    def require_whole(self, sha256: str) -> None:
        """Raise Damaged where the stored bytes are not those that were sent, by their digest."""
        with self.open() as sent:
            digest = hashlib.file_digest(sent, "sha256").hexdigest()
        if digest != sha256:
            raise wrong_digest(self.upload_id)

    def whole(self, sha256: str) -> IO[bytes]:
        """The file from its beginning, once its digest was compared; raises as `require_whole` does.

        One in an object store is fetched once, into a temporary file: its bytes have to be paid for.
        """
        if not self._is_elsewhere():
            self.require_whole(sha256)
            return self.open()
        copy, digest = TemporaryFile(), hashlib.sha256()  # noqa: SIM115 (closed by who reads it)
        try:
            with self.open() as sent:
                while piece := sent.read(CHUNK_BYTES):
                    digest.update(piece)
                    copy.write(piece)
            if digest.hexdigest() != sha256:
                raise wrong_digest(self.upload_id)
        except BaseException:
            copy.close()
            raise
        copy.seek(0)
        return copy

    def _is_elsewhere(self) -> bool:
        with self.database.read() as session:
            kept = select(StoredObject.key).where(StoredObject.upload_id == self.upload_id)
            return session.scalar(kept) is not None

    def open(self, mode: Literal["rb"] = "rb") -> BufferedReader:
        """The file from its beginning."""
        return BufferedReader(_Pieces(self.database, self.upload_id), CHUNK_BYTES)


def wrong_digest(upload_id: int) -> Damaged:
    """The error for a file whose bytes are not those that were sent."""
    return damaged(f"bytes of upload {upload_id}", "their digest does not match")


class _Pieces(RawIOBase):
    """The stored pieces one after the other; a file that is moved at the same time is followed."""

    def __init__(self, database: Database, upload_id: int) -> None:
        self._database = database
        self._upload_id = upload_id
        self._number = 0
        self._read = 0
        self._rest = memoryview(b"")
        self._object: Iterator[bytes] | None = None

    def readable(self) -> bool:
        """Always."""
        return True

    def readinto(self, buffer: Any) -> int:
        """Fill the buffer from the current piece; 0 at the end."""
        if not self._rest:
            piece = self._next()
            self._rest = memoryview(piece)
            self._read += len(piece)
        size = min(len(buffer), len(self._rest))
        buffer[:size] = self._rest[:size]
        self._rest = self._rest[size:]
        return size

    def _next(self) -> bytes:
        with belonging_to(f"upload {self._upload_id}"):
            if self._object is None:
                body, stored = self._looked_up()
                if body is not None:
                    return unpack_chunk(body)
                if stored is None:
                    return b""
                self._object = _plain(self._store(), stored, self._read)
            return next(self._object, b"")

    def _looked_up(self) -> tuple[bytes | None, StoredObject | None]:
        """The next piece, or else the object that contains the file, if any."""
        with self._database.read() as session:
            piece = UploadChunk.upload_id == self._upload_id, UploadChunk.number == self._number
            body = session.scalar(select(UploadChunk.body).where(*piece))
            self._number += 1
            kept = select(StoredObject).where(StoredObject.upload_id == self._upload_id)
            return body, session.scalar(kept) if body is None else None

    def _store(self) -> ObjectStore:
        if self._database.objects is None:
            raise away("LEADERBOARD_OBJECTS_URL is not set")
        return self._database.objects


def _plain(store: ObjectStore, stored: StoredObject, start: int) -> Iterator[bytes]:
    """The content of an object from an offset in the plain file, one piece at a time."""
    with store.open(stored.key, stored.bytes) as packed:
        frames = zstandard.ZstdDecompressor().stream_reader(packed, read_across_frames=True)
        try:
            while piece := frames.read(CHUNK_BYTES):
                passed, start = piece[start:], max(0, start - len(piece))
                if passed:
                    yield passed
        except zstandard.ZstdError as error:
            raise damaged("files", f"{stored.key} in the object store cannot be decompressed") from error


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
    """Queue an upload with fixes applied; a held one makes room for it. Repeats return the same upload.

    Raises NotFound for all but its team and the organisers, Invalid for fixes that are not offered, and what
    sending a file raises.
    """
    upload, task = _own(session, viewer, upload_id)
    # Team and account are locked first, as everywhere files are counted.
    limits.hold(session, upload.team_id, viewer.account_id)
    lock_row(session, Upload, upload.id)
    session.refresh(upload)
    chosen = [name for name in FIXES if name in names]
    fixes = [{"fix": name, "lines": 0} for name in chosen]
    query = select(Upload).where(Upload.fixed_from_id == upload.id).order_by(Upload.id.desc())
    earlier = session.scalars(query).first()
    if earlier is not None and [each["fix"] for each in earlier.fixes] == chosen:
        return Submission(earlier.id, None, earlier.state, uploads.report_of(earlier))
    possible = offered(session, upload)
    if not chosen or not set(names) <= set(possible):
        raise Invalid("Choose a fix offered for this file.")
    if upload.state == "held":
        upload.state = "rejected"
        upload.report = Report((Problem("Replaced by a fixed file."),)).as_json()
        session.flush()
    run_request, is_agents = RunRequest(**upload.wishes), upload.agent or viewer.is_agent
    limits.admit(session, viewer, task.slug, upload.team_id, run_request, any_team=True)
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
        agent=is_agents,
        # What was fixed is not what a runner sent.
        wishes={**upload.wishes, "execution": {}, "filed": not policy.owns(viewer, upload.team_id)},
        # What an agent fixes waits for the organisers, not for the sender of the batch.
        batch_id=None if is_agents else upload.batch_id,
        fixed_from_id=upload.id,
        fixes=fixes,
        created_at=now(session),
    )
    session.add(new)
    session.flush()
    if new.batch_id is None:
        uploads.queue_check(session, new)
    else:
        # Its sender views one file of the batch, and waits for it.
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Fixes:
    """Names of fixes, as listed in `fixes` of the check."""

    fixes: Annotated[tuple[str, ...], Field(title="Fixes", help="Names of offered fixes.", choices=FIXES)]


FIX = Action(
    name="fix_upload",
    summary="Fix a rejected file",
    more="With fixes offered by its check. A new upload is created and checked like any other.",
    path="/uploads/<id:upload_id>/fix",
    form="/uploads/<id:upload_id>/fix",
    record=Fixes,
    act=lambda session, viewer, upload_id, asked: ask(session, viewer, upload_id, asked.fixes),
    scopes=(Scope.SUBMIT, Scope.ORGANISE),
    status=202,
    may=_own,
)


def apply(database: Database, upload_id: int, reading: Limits) -> Report | None:
    """Write the file of an upload that is to be fixed, once; a report where it cannot be written."""
    with database.read() as session:
        upload = session.get(Upload, upload_id)
        if upload is None or upload.fixed_from_id is None or is_kept(session, upload_id):
            return None
        task = session.get_one(Task, upload.task_id)
        rules = limits.check_rules(session, upload_id).checks
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
