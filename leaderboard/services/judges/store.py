"""The boards of judges as they are stored: one row a run."""

from collections.abc import Iterable

from sqlalchemy import select
from sqlalchemy.orm import Session

from leaderboard.checksums import belonging_to
from leaderboard.db.tables import JudgeBoard
from leaderboard.trec.boards.packing import KeptBoard, unpack_board


def add(session: Session, run_id: int, body: bytes) -> None:
    """Store the board of a run, packed."""
    session.add(JudgeBoard(run_id=run_id, body=body))


def of_runs(session: Session, runs: Iterable[tuple[int, str]]) -> dict[int, KeptBoard]:
    """Run id -> its board, of runs given with their names; one statement; raises Damaged."""
    names = dict(runs)
    boards = select(JudgeBoard.run_id, JudgeBoard.body).where(JudgeBoard.run_id.in_(names))
    rows = session.execute(boards.order_by(JudgeBoard.run_id))
    return {run_id: opened(run_id, body, names[run_id]) for run_id, body in rows}


def opened(run_id: int, body: bytes, name: str = "") -> KeptBoard:
    """A stored board; raises Damaged, naming the run."""
    with belonging_to(f"run {run_id}"):
        return unpack_board(body, name)
