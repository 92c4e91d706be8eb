"""A small board whose judgments are revised."""

from pathlib import Path

from leaderboard.db.engine import Database
from leaderboard.services.boards import board
from leaderboard.services.policy import OPERATOR
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
