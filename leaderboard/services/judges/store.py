"""What judges sent, as it is stored: one row a run, a board or labels.

The board that labels make depends on the reference. It is kept where judged hits of rankings are, by run and
revision, and stored with the scores that are computed from it.
"""

from collections.abc import Iterable, Iterator

from sqlalchemy import and_, func, select
from sqlalchemy.orm import Session

from leaderboard.checksums import belonging_to
from leaderboard.db.engine import Database
from leaderboard.db.tables import Alignment, Edition, JudgeBoard, Run
from leaderboard.memory import keep
from leaderboard.services.kinds import PackedRun
from leaderboard.trec.boards.answer_labels import KeptAnswerLabels, unpack_answer_labels
from leaderboard.trec.boards.labels import KeptLabels, are_labels, unpack_labels
from leaderboard.trec.boards.packing import KeptBoard, is_board, unpack_board

Sent = KeptBoard | KeptLabels | KeptAnswerLabels


def add(session: Session, run_id: int, packed: PackedRun) -> None:
    """Store what a run of a judge says."""
    session.add(JudgeBoard(run_id=run_id, body=packed.board))


def damage(database: Database, run: Run) -> Iterator[str]:
    """What is wrong with what a judge sent, as it is stored; raises Damaged as well."""
    with database.read() as session:
        kept = sent(session, run.id)
    if kept is None or kept.sha256 != run.ranking_sha256:
        yield "its board or its labels do not have its digest"


def sent(session: Session, run_id: int, name: str = "") -> Sent | None:
    """What a judge sent, under the name of its run; None where that is gone; raises Damaged."""
    body = session.scalar(select(JudgeBoard.body).where(JudgeBoard.run_id == run_id))
    if body is None:
        return None
    with belonging_to(f"run {run_id}"):
        return unpacked(body, name)


def unpacked(body: bytes, name: str = "") -> Sent:
    """What a judge sent, as it was packed; raises Damaged."""
    if is_board(body):
        return _unpacked(body, name)
    return unpack_labels(body) if are_labels(body) else unpack_answer_labels(body)


def has_labels(session: Session, run_id: int) -> bool:
    """Whether a judge sent labels."""
    body = session.scalar(select(JudgeBoard.body).where(JudgeBoard.run_id == run_id))
    return body is not None and not is_board(body)


def of_runs(session: Session, runs: Iterable[tuple[int, str]], edition: Edition) -> dict[int, KeptBoard]:
    """Run id -> its board under an edition, of runs given with their names; one statement; raises Damaged.

    Without judges whose labels were not scored yet.
    """
    names = dict(runs)
    made = and_(
        Alignment.run_id == JudgeBoard.run_id,
        Alignment.revision_id == edition.revision_id,
        Alignment.dialect == edition.dialect,
    )
    boards = (
        select(JudgeBoard.run_id, func.coalesce(Alignment.body, JudgeBoard.body))
        .outerjoin(Alignment, made)
        .where(JudgeBoard.run_id.in_(names))
        .order_by(JudgeBoard.run_id)
    )
    rows = session.execute(boards).all()
    return {run_id: opened(run_id, body, names[run_id]) for run_id, body in rows if is_board(body)}


def made(session: Session, run_id: int, revision_id: int, dialect: int) -> KeptBoard | None:
    """The board that a judge's labels made under a revision, None where there is none; raises Damaged."""
    body = session.scalar(
        select(Alignment.body).where(
            Alignment.run_id == run_id, Alignment.revision_id == revision_id, Alignment.dialect == dialect
        )
    )
    return None if body is None else opened(run_id, body)


def opened(run_id: int, body: bytes, name: str = "") -> KeptBoard:
    """A stored board; raises Damaged, naming the run."""
    with belonging_to(f"run {run_id}"):
        return _unpacked(body, name)


# A page of judges reads all boards of its task anew each time.
@keep
def _unpacked(body: bytes, name: str) -> KeptBoard:
    return unpack_board(body, name)
