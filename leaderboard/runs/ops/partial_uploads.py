"""Partial uploads of run files: begin, look up by owner, complete, discard, expire.

No row says how much came, so that a crash between the two cannot make them differ.
"""

import os
import secrets
import sys
import time
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import IO, Protocol

from sqlalchemy import delete, func, select
from sqlalchemy.orm import Session

from leaderboard.core import policy, throttles
from leaderboard.core.policy import Viewer
from leaderboard.db.engine import lock_key, now
from leaderboard.db.tables import PartialUpload
from leaderboard.errors import Conflict, Invalid, NoRoom, NotFound, OverQuota, Problem, TooLarge
from leaderboard.runs.ops import limits, prepare
from leaderboard.runs.ops.limits import RunRequest

if sys.platform == "win32":
    import msvcrt
else:
    import fcntl

FOLDER = "partial"
PIECE = 2**20
ORPHANED_AFTER_S = 3600
"""A file without a row is left alone this long: the row of a new one may not be committed yet."""
_FAR = 2**40
"""Windows locks byte ranges; a byte beyond the end of any file blocks no reader."""


class Stream(Protocol):
    """A readable stream of bytes."""

    def read(self, size: int, /) -> bytes:
        """Read up to that number of bytes; none at the end."""


def path_of(data: Path, partial_id: str) -> Path:
    """The path of a partial upload's bytes, under the data folder."""
    return data / FOLDER / partial_id


def offset(path: Path) -> int:
    """Bytes that came so far; 0 if the file is missing, as after restoring a backup."""
    try:
        return path.stat().st_size
    except FileNotFoundError:
        return 0


@contextmanager
def locked(path: Path) -> Iterator[IO[bytes]]:
    """The file, to be appended to; raises Conflict while another request has it."""
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    with path.open("ab") as file:
        try:
            _lock(file)
        except OSError:
            raise Conflict(
                "Another request is appending to this upload. Ask for its offset, then continue."
            ) from None
        yield file


def _lock(file: IO[bytes]) -> None:
    # Two requests at one offset would both append; the end of the process frees the file.
    if sys.platform == "win32":
        file.seek(_FAR)
        msvcrt.locking(file.fileno(), msvcrt.LK_NBLCK, 1)
    else:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)


def append(file: IO[bytes], stream: Stream, most: int) -> None:
    """Append what the stream gives, `most` bytes at most; what was written stays where it fails."""
    try:
        while most and (piece := stream.read(min(PIECE, most))):
            file.write(piece)
            most -= len(piece)
    finally:
        file.flush()
        os.fsync(file.fileno())


def empty(path: Path) -> None:
    """Throw away what came; the file stays."""
    os.truncate(path, 0)


def remove_partial_files(path: Path) -> None:
    """Remove the file, if it is there; one that is still open on Windows is left to the sweep."""
    with suppress(FileNotFoundError, PermissionError):
        path.unlink()


def sweep(data: Path, upload_ids: Collection[str]) -> None:
    """Remove files without rows."""
    before = time.time() - ORPHANED_AFTER_S
    for path in (data / FOLDER).glob("*"):
        if path.name not in upload_ids and path.stat().st_mtime < before:
            remove_partial_files(path)


KEPT = timedelta(days=1)
OPEN_OF_ONE = 8
"""Maximum unfinished partial uploads per account."""
BEGUN_AN_HOUR = 200
SHARE_OF_ONE = 4
"""Each account can use at most a quarter of the space, or one file."""


@dataclass(frozen=True, slots=True)
class PartialRequest:
    """An announced file: its size in bytes, its digest if known, and the entries for its run."""

    team_id: int
    file_name: str
    bytes: int
    sha256: str
    run_request: RunRequest


@dataclass(frozen=True, slots=True)
class Room:
    """Bytes: of the largest upload, and the total that files in pieces may use on disk."""

    largest: int
    free: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Partial(PartialRequest):
    """A file that is being sent; upload_id: the upload it became once its last byte was there."""

    id: str
    expires_at: datetime
    upload_id: int | None

    @property
    def key(self) -> str:
        """The key of its upload: delivered twice, it makes one run."""
        return f"partial:{self.id}"


def begin(
    session: Session, viewer: Viewer, slug: str, partial_request: PartialRequest, room: Room
) -> Partial:
    """Start a partial upload; deadline, team and limits are checked now and again at the end.

    Raises as `uploads.submit` does, TooLarge, NoRoom, and OverQuota if too many are open.
    """
    account_id = policy.require_account(viewer)
    _require_readable(partial_request, room)
    task, _, phase = limits.admit(session, viewer, slug, partial_request.team_id, partial_request.run_request)
    limits.require_size(phase, partial_request.bytes)
    throttles.spend(session, f"partial account:{account_id}", BEGUN_AN_HOUR, timedelta(hours=1))
    _require_room(session, account_id, partial_request.bytes, room.free)
    at = now(session)
    row = PartialUpload(
        id=secrets.token_hex(16),
        account_id=account_id,
        task_id=task.id,
        team_id=partial_request.team_id,
        file_name=partial_request.file_name,
        bytes=partial_request.bytes,
        sha256=partial_request.sha256,
        wishes=asdict(partial_request.run_request),
        created_at=at,
        expires_at=at + KEPT,
    )
    session.add(row)
    session.flush()
    return _facts(row)


def own(session: Session, viewer: Viewer, slug: str, partial_id: str) -> Partial:
    """A partial upload, for its sender if still in its team; NotFound for all others."""
    for row in _own_rows(session, viewer, slug):
        if row.id == partial_id:
            return _facts(row)
    raise NotFound("You have no such upload; it may have expired.")


def own_list(session: Session, viewer: Viewer, slug: str) -> tuple[Partial, ...]:
    """The viewer's partial uploads in a task, oldest first; finished ones until they expire."""
    return tuple(map(_facts, _own_rows(session, viewer, slug)))


def settle(session: Session, partial_id: str, upload_id: int) -> None:
    """Say which upload it became; nothing if it has expired."""
    row = session.get(PartialUpload, partial_id)
    if row is not None:
        row.upload_id = upload_id


def drop(session: Session, partial_id: str) -> None:
    """Forget a partial upload; its bytes are the caller's to remove."""
    session.execute(delete(PartialUpload).where(PartialUpload.id == partial_id))


def expire(session: Session, data: Path) -> None:
    """Forget those that are over their day, and remove the bytes of all that have no row."""
    session.execute(delete(PartialUpload).where(PartialUpload.expires_at < now(session)))
    sweep(data, set(session.scalars(select(PartialUpload.id))))


def _require_readable(partial_request: PartialRequest, room: Room) -> None:
    if partial_request.bytes > room.largest:
        raise TooLarge(
            f"This site accepts files of at most {room.largest:,} bytes as submitted; this file has "
            f"{partial_request.bytes:,}. Compress it."
        )
    if not prepare.NAME.fullmatch(partial_request.run_request.name):
        rule = (
            "must be 1 to 64 letters, digits, dots, hyphens or underscores, starting with a letter or digit."
        )
        remedy = f"For example {prepare.suggested_name(partial_request.run_request.name)}."
        problem = Problem(rule, remedy, field="name", value=partial_request.run_request.name[:80])
        raise Invalid(f"The run's name {rule}", [problem])


def _require_room(session: Session, account_id: int, size: int, free: int) -> None:
    # Two files started at once by different accounts would both get the last space.
    lock_key(session, "partial uploads")
    is_open = PartialUpload.upload_id.is_(None), PartialUpload.expires_at > now(session)
    sizes = select(func.count(), func.coalesce(func.sum(PartialUpload.bytes), 0)).where(*is_open)
    count, own_bytes = session.execute(sizes.where(PartialUpload.account_id == account_id)).one()
    if count >= OPEN_OF_ONE or (count and own_bytes + size > free // SHARE_OF_ONE):
        raise OverQuota("Your account has unfinished uploads. Finish or delete one of them.")
    if session.execute(sizes).one()[1] + size > free:
        raise NoRoom("The server has no space for files now; nothing was stored. Notify its operator.")


def _own_rows(session: Session, viewer: Viewer, slug: str) -> Sequence[PartialUpload]:
    account_id = policy.require_account(viewer)
    task, _ = policy.visible_task(session, viewer, slug)
    return session.scalars(
        select(PartialUpload)
        .where(
            PartialUpload.task_id == task.id,
            PartialUpload.account_id == account_id,
            # A token for one team has no other ones.
            PartialUpload.team_id.in_(viewer.team_ids),
            PartialUpload.expires_at > now(session),
        )
        .order_by(PartialUpload.created_at, PartialUpload.id)
    ).all()


def _facts(row: PartialUpload) -> Partial:
    return Partial(
        id=row.id,
        team_id=row.team_id,
        file_name=row.file_name,
        bytes=row.bytes,
        sha256=row.sha256,
        run_request=RunRequest(**row.wishes),
        expires_at=row.expires_at,
        upload_id=row.upload_id,
    )
