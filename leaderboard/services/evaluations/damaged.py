"""Scores whose checksum does not match: whose they are, so that an error can name the run."""

from collections.abc import Iterator
from contextlib import contextmanager

from sqlalchemy import ColumnElement, select
from sqlalchemy.orm import Session

from leaderboard.checksums import damaged
from leaderboard.db.tables import Evaluation
from leaderboard.errors import Damaged


@contextmanager
def scores_of_runs(session: Session, *chosen: ColumnElement[bool]) -> Iterator[None]:
    """Name the run in the error of reading the evaluations that are chosen by these conditions."""
    try:
        yield
    except Damaged as error:
        raise next(damaged_scores(session, *chosen), error) from error


def damaged_scores(session: Session, *chosen: ColumnElement[bool]) -> Iterator[Damaged]:
    """An error for each of the evaluations whose scores are damaged; one statement for each evaluation."""
    rows = session.execute(select(Evaluation.id, Evaluation.run_id, Evaluation.measure).where(*chosen)).all()
    for row in rows:
        try:
            session.execute(select(Evaluation.scores, Evaluation.parts).where(Evaluation.id == row.id)).one()
        except Damaged as error:
            yield damaged(f"scores of run {row.run_id} by {row.measure}", str(error.facts["why"]))
