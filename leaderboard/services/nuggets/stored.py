"""Judgments of answers as revisions hold them."""

from sqlalchemy import select
from sqlalchemy.orm import Session, undefer

from leaderboard.checksums import belonging_to
from leaderboard.db.tables import QrelsRevision
from leaderboard.memory import keep
from leaderboard.services.qrels import files
from leaderboard.services.qrels.judged_inputs import MAIN
from leaderboard.trec.nuggets.packing import PackedAnswers, unpacked


def newest(session: Session, task_id: int, line: str = MAIN) -> PackedAnswers | None:
    """The newest judgments of a task's line, the board's by default; None where none, raises Damaged."""
    revision = files.newest(session, task_id, line)
    return None if revision is None else _of(revision)


def of_revision(session: Session, revision_id: int) -> PackedAnswers:
    """The judgments of a revision of answers; raises Damaged."""
    query = select(QrelsRevision).where(QrelsRevision.id == revision_id)
    return _of(session.scalars(query.options(undefer(QrelsRevision.packed))).one())


def packed_of(session: Session, revision_id: int) -> bytes:
    """The judgments of a revision of answers as they are stored; one statement."""
    return session.scalars(select(QrelsRevision.packed).where(QrelsRevision.id == revision_id)).one()


def _of(revision: QrelsRevision) -> PackedAnswers:
    with belonging_to(f"revision {revision.number} (number {revision.id} of all)"):
        return opened(revision.packed)


# An evaluator scores all runs of an edition by the same judgments, one after the other.
@keep
def opened(stored: bytes) -> PackedAnswers:
    """The judgments of a revision's bytes, read once for all runs that are scored by them."""
    return unpacked(stored)
