"""The reference of a task of judges: a board as it was when chosen, kept as a revision of judgments."""

from dataclasses import dataclass

from sqlalchemy import select
from sqlalchemy.orm import Session, undefer

from leaderboard.checksums import belonging_to
from leaderboard.db.tables import QrelsRevision
from leaderboard.memory import keep
from leaderboard.services.qrels import files
from leaderboard.services.qrels.files import PreparedQrels
from leaderboard.trec.boards.packing import KeptReference, pack_reference, unpack_reference

KIND = "judges"
LINE = "board"
"""The kind of judgments that a reference is."""


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class PreparedReference(PreparedQrels):
    """A reference, read and packed."""

    kept: KeptReference

    @property
    def made_by(self) -> tuple[str, str] | None:
        """Machine where the reference rests on a machine's judgments; where it is from is held back."""
        return ("machine" if self.kept.is_machine else "human"), ""

    @property
    def topics(self) -> list[str]:
        """The topics of the reference, in byte order."""
        return sorted(self.kept.reference.topics, key=str.encode)

    @property
    def facts(self) -> dict[tuple[str, ...], float]:
        """(topic, measure, run) -> value."""
        reference = self.kept.reference
        return {
            (topic, reference.measure, run): float(reference.scores[row, place])
            for row, run in enumerate(reference.runs)
            for place, topic in enumerate(reference.topics)
        }


def of_reference(kept: KeptReference, file_name: str = "") -> PreparedReference:
    """A reference, prepared; its digest is that of all it says."""
    return PreparedReference(
        file_name=file_name,
        sha256=kept.sha256,
        kind=LINE,
        judgments={},
        rows=(),
        packed=pack_reference(kept),
        warnings=kept.reference.warnings,
        kept=kept,
    )


def of_packed(stored: bytes, file_name: str) -> PreparedReference:
    """What a revision holds; raises Damaged."""
    return of_reference(unpack_reference(stored), file_name)


def newest(session: Session, task_id: int) -> KeptReference | None:
    """The newest reference of a task, None where none was chosen; raises Damaged."""
    revision = files.newest(session, task_id)
    return None if revision is None else _of(revision)


def of_revision(session: Session, revision_id: int) -> KeptReference:
    """The reference that a revision is; raises Damaged."""
    query = select(QrelsRevision).where(QrelsRevision.id == revision_id)
    return _of(session.scalars(query.options(undefer(QrelsRevision.packed))).one())


# An evaluator scores all judges of an edition against the same reference, one after the other.
@keep
def opened(stored: bytes) -> KeptReference:
    """The reference of a revision's bytes; raises Damaged."""
    return unpack_reference(stored)


def _of(revision: QrelsRevision) -> KeptReference:
    with belonging_to(f"revision {revision.number} (number {revision.id} of all)"):
        return opened(revision.packed)
