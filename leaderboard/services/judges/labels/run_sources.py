"""The runs of a reference, which labels score, as the database has them."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from sqlalchemy import select
from sqlalchemy.orm import Session

from leaderboard.db.engine import Database
from leaderboard.db.tables import Collection, Edition, QrelsRevision, Run, Task
from leaderboard.errors import Conflict
from leaderboard.services.answers import store
from leaderboard.services.rankings.blocks import whole_blocks
from leaderboard.trec.answers.record import Answer
from leaderboard.trec.boards.packing import Origin
from leaderboard.trec.read.blocks import Block


@dataclass(frozen=True, slots=True)
class ReferenceBasis:
    """What the board that a reference was rests on, besides judgments.

    dialect: its edition's; size: documents of the collection, None where nobody said; left_out: documents
    left out of rankings, packed, None where there are none; digests: run id -> of its rankings or answers.
    """

    dialect: int
    size: int | None
    left_out: bytes | None
    digests: Mapping[int, str]


class RunSource:
    """Reads the runs of a reference, each outside the transaction that stores what is computed."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def basis(self, origin: Origin) -> ReferenceBasis:
        """What the runs are scored with; raises Conflict where they are gone."""
        with self._database.read() as session:
            return basis(session, origin)

    def blocks(self, run_id: int, sha256: str) -> Iterator[Block]:
        """The rankings of a run, a few blocks in each transaction; raises Damaged."""
        return whole_blocks(self._database, run_id, sha256)

    def answers(self, run_id: int) -> Mapping[str, Answer]:
        """Topic -> answer of a run; raises Damaged."""
        with self._database.read() as session:
            return {answer.topic: answer for answer in store.of_run(session, run_id)}


def basis(session: Session, origin: Origin) -> ReferenceBasis:
    """What the runs of a reference are scored with; raises Conflict where they are gone."""
    edition = session.get(Edition, origin.edition_id)
    query = select(Run.id, Run.ranking_sha256).where(Run.id.in_(origin.run_ids))
    digests = {run_id: sha256 for run_id, sha256 in session.execute(query)}
    sizes = select(Collection.size).join(Task, Task.collection_id == Collection.id)
    size = session.scalar(sizes.where(Task.id == origin.task_id))
    if edition is None or len(digests) < len(set(origin.run_ids)):
        raise Conflict("Runs of the reference are gone, so labels cannot score them: choose another one.")
    left_out = session.scalar(select(QrelsRevision.left_out).where(QrelsRevision.id == edition.revision_id))
    return ReferenceBasis(edition.dialect, size, left_out, digests)
