"""A small board whose judgments are revised."""

from collections.abc import Collection
from pathlib import Path

from sqlalchemy import select
from sqlalchemy.orm import Session

from leaderboard.boards.ops import board
from leaderboard.core.policy import OPERATOR
from leaderboard.db.engine import Database
from leaderboard.db.tables import Task
from leaderboard.qrels.ops import revisions
from leaderboard.qrels.ops.revisions import NewRevision, Revision
from leaderboard.scoring.ops.qrels.files import MAIN, Judged, PreparedQrels
from leaderboard.scoring.ops.qrels.lines import Origin
from tests.make import build
from tests.make.copies import built_once

FIRST = {"1": ["a", "x", "c"], "2": ["y", "d", "a"], "3": ["e", "f"]}
SECOND = {"1": ["x", "b", "a"], "2": ["a", "y"], "3": ["x", "y", "e"]}
BETTER = {"1": {"x": 2, "a": 0}, "2": {"a": 1, "y": 2}, "3": {"e": 1, "x": 2}}
"""Judgments under which SECOND is the better run."""


@built_once
def task(database: Database, folder: Path, **options: object) -> None:
    """A scored board of two runs."""
    build.task(database, folder, measures=("AP", "P@2", "Bpref"), primary="AP", **options)
    build.run(database, folder, FIRST, "first")
    build.run(database, folder, SECOND, "second")
    build.drain(database)


def revise(
    session: Session,
    prepared: PreparedQrels,
    note: str = "a note",
    *,
    by: Origin | None = None,
    distractors: Collection[bytes] | None = None,
    line: str = MAIN,
) -> Revision:
    """A revision of the judgments of task t."""
    judge = by or Origin()
    new = NewRevision(prepared=prepared, note=note, by=judge, distractors=distractors, line=line)
    return revisions.revise(session, OPERATOR, "t", new)


def settle(
    session: Session, judgments: Judged, *, by: Origin | None = None, mode: str = "replace", line: str = MAIN
) -> Revision:
    """A revision of task t of judgments that are settled as those of assessors are."""
    task_id = session.scalars(select(Task.id).where(Task.slug == "t")).one()
    prepared = revisions.settled(session, task_id, judgments, mode=mode, line=line)
    return revise(session, prepared, by=by, line=line)


def graded(judgments: dict[str, dict[str, int]]) -> dict[str, dict[bytes, int]]:
    """Judgments as services take them."""
    return {
        topic: {docno.encode(): each for docno, each in grades.items()} for topic, grades in judgments.items()
    }


def scores(database: Database, measure: str) -> dict[str, float | None]:
    """Run -> its value on the board."""
    with database.read() as session:
        shown = board.board(session, OPERATOR, "t")
        return {row.run: row.scores[measure] for row in shown.rows}
