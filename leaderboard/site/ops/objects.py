"""Submitted files in an object store: moved there and back, and what is left over removed.

The object is there before its row is, and the row before the pieces are deleted: at any interruption, the
file is complete in at least one place.
"""

import hashlib
import re
import secrets
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import timedelta
from itertools import islice

from sqlalchemy import delete, exists, func, select, update
from sqlalchemy.orm import Session

from leaderboard.checksums import compressor, framed
from leaderboard.core.jobs import queue
from leaderboard.db.engine import Database, lock_row, now
from leaderboard.db.tables import Job, StoredObject, Upload, UploadChunk
from leaderboard.errors import Invalid
from leaderboard.objects import ObjectStore
from leaderboard.runs.ops import uploads
from leaderboard.runs.ops.fixing import StoredFile, wrong_digest
from leaderboard.runs.ops.prepare import CHUNK_BYTES
from leaderboard.trec.runs.packing import PackedBlocks

ENDING = ".zst"
MOST_QUEUED = 100
"""Jobs made at once."""
_LEVEL = 1


@dataclass(frozen=True, slots=True)
class PutObject:
    """A file that was put into the object store and has no row yet: its key, its bytes compressed."""

    upload_id: int
    key: str
    bytes: int


@dataclass(frozen=True, slots=True)
class ObjectCount:
    """Number and total bytes of files in the object store."""

    files: int
    bytes: int


def store_of(database: Database) -> ObjectStore:
    """The object store of the settings; raises Invalid if absent."""
    if database.objects is None:
        raise Invalid(
            "No object store is configured. Set LEADERBOARD_OBJECTS_URL, for example to s3://bucket/prefix."
        )
    return database.objects


def count_moves(session: Session) -> ObjectCount:
    """Objects of this site in the object store."""
    kept = select(func.count(), func.coalesce(func.sum(StoredObject.bytes), 0))
    files, size = session.execute(kept.where(StoredObject.upload_id.is_not(None))).one()
    return ObjectCount(files, size)


def due_moves(session: Session, over_bytes: int, limit: int | None = None) -> list[int]:
    """Uploads whose submitted files are larger than that and still in the database; the oldest first."""
    elsewhere = exists().where(StoredObject.upload_id == Upload.id)
    here = exists().where(UploadChunk.upload_id == Upload.id, UploadChunk.number == 0)
    about = exists().where(
        Job.kind == queue.MOVE, Job.subject_id == Upload.id, Job.state.in_(queue.UNFINISHED)
    )
    large = select(Upload.id).where(Upload.state == "accepted", Upload.bytes > over_bytes)
    due_uploads = large.where(~elsewhere, here)
    if limit is not None:
        due_uploads = due_uploads.where(~about).limit(limit)
    return list(session.scalars(due_uploads.order_by(Upload.id)))


def queue_due(session: Session, over_bytes: int) -> None:
    """Queue a job for each of these that none is about; one that failed is for the operator to see."""
    for upload_id in due_moves(session, over_bytes, MOST_QUEUED) if over_bytes else ():
        queue.enqueue(session, queue.MOVE, upload_id, priority=queue.UNHURRIED)


def put_moved(database: Database, upload_id: int) -> PutObject | None:
    """Put a file into the object store, outside any transaction; None where it is not in pieces any more.

    Raises StoreAway; Damaged where the pieces are not what was sent: then no object is left of it.
    """
    store = store_of(database)
    with database.read() as session:
        sha256 = _sent(session, upload_id)
    if sha256 is None:
        return None
    # Random at the end: an object belongs to one upload only, so that removing it does not affect another.
    key = f"{sha256[:2]}/{sha256}-{secrets.token_hex(8)}{ENDING}"
    digest = hashlib.sha256()
    size = store.put(key, _compressed(StoredFile(database, upload_id), digest))
    if digest.hexdigest() != sha256:
        store.remove([key])
        raise wrong_digest(upload_id)
    return PutObject(upload_id, key, size)


def _sent(session: Session, upload_id: int) -> str | None:
    """The digest of a file that can be moved; None where it cannot."""
    in_pieces = exists().where(UploadChunk.upload_id == upload_id, UploadChunk.number == 0)
    digest = select(Upload.sha256).where(Upload.id == upload_id, Upload.state == "accepted", in_pieces)
    return session.scalar(digest)


def _compressed(sent: StoredFile, digest: "hashlib._Hash") -> Iterator[bytes]:
    """The file as zstd frames of a megabyte each, which any zstd reads as one."""
    frames = compressor(_LEVEL)
    with sent.open() as file:
        while piece := file.read(CHUNK_BYTES):
            digest.update(piece)
            yield frames.compress(piece)


def settle_move(session: Session, done: PutObject) -> bool:
    """Replace the pieces by the object; False if another process has moved the file."""
    lock_row(session, Upload, done.upload_id)
    if _sent(session, done.upload_id) is None:
        return False
    session.add(
        StoredObject(key=done.key, upload_id=done.upload_id, bytes=done.bytes, created_at=now(session))
    )
    session.flush()
    uploads.drop_pieces(session, done.upload_id)
    return True


def move_out(database: Database, upload_id: int) -> bool:
    """Move one file into the object store; False where it was moved already. Raises as `put` does."""
    done = put_moved(database, upload_id)
    if done is None:
        return False
    with database.write() as session:
        return settle_move(session, done)


def move_back(database: Database, upload_id: int) -> bool:
    """Move one file back into the database; False where it is there. The object is left to the sweep.

    Raises StoreAway, and Damaged where the object is not what was sent.
    """
    with database.read() as session:
        sha256 = session.scalars(select(Upload.sha256).where(Upload.id == upload_id)).one()
    pieces, digest, frames = PackedBlocks(), hashlib.sha256(), compressor(_LEVEL)
    with StoredFile(database, upload_id).open() as file:
        while piece := file.read(CHUNK_BYTES):
            digest.update(piece)
            pieces.append(framed(b"", frames.compress(piece)))
    if digest.hexdigest() != sha256:
        raise wrong_digest(upload_id)
    with database.write() as session:
        lock_row(session, Upload, upload_id)
        stored = session.scalar(select(StoredObject).where(StoredObject.upload_id == upload_id))
        if stored is None:
            return False
        stored.upload_id, stored.loose_since = None, now(session)
        uploads.add_pieces(session, upload_id, pieces)
    return True


def kept_elsewhere(session: Session) -> list[int]:
    """Uploads whose files are in the object store."""
    kept = select(StoredObject.upload_id).where(StoredObject.upload_id.is_not(None))
    return [upload_id for upload_id in session.scalars(kept.order_by(StoredObject.upload_id)) if upload_id]


OURS = re.compile(r"[0-9a-f]{2}/[0-9a-f]{64}-[0-9a-f]{16}\.zst")
"""Keys that this program makes; other objects in the bucket belong to others."""
AT_ONCE = 500


def sweep(database: Database, keep_days: int) -> int:
    """Remove what nothing has referred to for that many days, one at least; how many objects.

    These are those whose upload was deleted or moved back, and those that a crash left without a row. Raises
    StoreAway.
    """
    keep = timedelta(days=max(1, keep_days))
    return _remove_loose(database, keep) + _remove_unknown(database, keep)


def _remove_loose(database: Database, keep: timedelta) -> int:
    with database.write(is_shown=False) as session:
        at = now(session)
        is_loose = StoredObject.upload_id.is_(None)
        new = update(StoredObject).where(is_loose, StoredObject.loose_since.is_(None))
        session.execute(new.values(loose_since=at))
        old = select(StoredObject.key).where(is_loose, StoredObject.loose_since < at - keep)
        keys = list(session.scalars(old))
    for some in _batches(keys):
        # Rows go last: what a crash leaves in between is removed by the next sweep.
        store_of(database).remove(some)
        with database.write(is_shown=False) as session:
            session.execute(delete(StoredObject).where(StoredObject.key.in_(some)))
    return len(keys)


def _remove_unknown(database: Database, keep: timedelta) -> int:
    store, removed = store_of(database), 0
    with database.read() as session:
        since = now(session) - keep
    # No transaction is open for as long as that: any process that put one there is done or dead.
    old = (each.key for each in store.listed() if each.modified < since and OURS.fullmatch(each.key))
    for some in _batches(old):
        with database.read() as session:
            stored_keys = set(session.scalars(select(StoredObject.key).where(StoredObject.key.in_(some))))
        store.remove([key for key in some if key not in stored_keys])
        removed += len(some) - len(stored_keys)
    return removed


def _batches(keys: Iterable[str]) -> Iterator[list[str]]:
    source = iter(keys)
    while some := list(islice(source, AT_ONCE)):
        yield some
