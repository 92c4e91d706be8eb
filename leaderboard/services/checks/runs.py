"""Checks of runs: their files as sent, and what they say."""

from collections.abc import Iterator, Sequence
from functools import partial

from sqlalchemy import func, select

from leaderboard.db.engine import Database
from leaderboard.db.tables import Run, Task, Upload, UploadChunk
from leaderboard.services import kinds
from leaderboard.services.checks.damage import DamageCheck
from leaderboard.services.kinds import RunKind
from leaderboard.services.runs.files import StoredFile
from leaderboard.trec.runs.fingerprints import similarity


def _uploads(database: Database) -> Sequence[int]:
    with database.read() as session:
        return session.scalars(select(Upload.id).order_by(Upload.id)).all()


def _file(database: Database, upload_id: int) -> Iterator[str]:
    with database.read() as session:
        upload = session.get(Upload, upload_id)
        pieces = select(func.count()).where(UploadChunk.upload_id == upload_id)
        stored = session.scalar(pieces)
    if upload is None or (upload.state == "rejected" and not stored):
        return
    StoredFile(database, upload_id).require_whole(upload.sha256)
    yield from ()


def _runs(kind: RunKind, database: Database) -> Sequence[int]:
    with database.read() as session:
        runs = select(Run.id).join(Task, Task.id == Run.task_id).where(Task.kind == kind.name)
        return session.scalars(runs.order_by(Run.id)).all()


def _said(kind: RunKind, database: Database, run_id: int) -> Iterator[str]:
    with database.read() as session:
        run = session.get_one(Run, run_id)
    # Its checksum is all there is to ask: versions had different hashes.
    similarity(run.sketch, run.sketch)
    yield from kind.damage(database, run)


def checks() -> tuple[DamageCheck, ...]:
    """The checks of runs, of each kind in turn."""
    said = (
        DamageCheck(kind.stored, "run", partial(_runs, kind), partial(_said, kind))
        for kind in map(kinds.of, kinds.KINDS)
    )
    return DamageCheck("files as sent", "upload", _uploads, _file), *said
