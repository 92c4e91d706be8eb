"""What a board asks of its ranked runs besides their comparison in pairs: reliability, intervals of ranks."""

from sqlalchemy.orm import Session

from leaderboard.services.boards.board import Board
from leaderboard.services.evaluations.columns import MeasureColumn
from leaderboard.services.statistics import requests, standings
from leaderboard.services.statistics.requests import Request, Waiting
from leaderboard.stats.arrays import Arrays


def result(session: Session, shown: Board, procedure: str) -> Arrays | Waiting | None:
    """A procedure on the ranked runs, in the order of their ids, by the measure the board is ranked by.

    None where the board says nothing of how its runs stand to each other, or has fewer than two ranked
    runs or topics; Waiting where it takes a job. At most one statement, none where it is in memory.
    """
    wanted = request(shown, procedure)
    if wanted is None:
        return None
    if (known := requests.kept.get(wanted.digest)) is not None:
        return known
    if wanted.seconds > requests.AT_ONCE_S:
        return requests.find(session, wanted)
    scores = standings.better_scores(session, wanted, sign(shown))
    return requests.kept.put(wanted.digest, standings.compute(wanted, scores))


def request(shown: Board, procedure: str) -> Request | None:
    """The request for a procedure on the ranked runs of a board; None where it has none."""
    ranked = sorted((row.run_id, row.ranking_sha256) for row in shown.rows if row.rank is not None)
    if shown.standing is None or shown.source is None:
        return None
    if len(ranked) < 2 or len(shown.source.topics) < 2:
        return None
    by = sorted_by(shown)
    return Request(
        procedure=procedure,
        method="",
        source=shown.source,
        measure=by.key,
        measure_version=by.version,
        run_ids=tuple(run_id for run_id, _ in ranked),
        rankings=tuple(digest for _, digest in ranked),
    )


def sorted_by(shown: Board) -> MeasureColumn:
    """The measure that a board is ranked by."""
    return next(each for each in shown.measures if each.key == shown.sorted_by)


def sign(shown: Board) -> int:
    """-1 where the board is ranked by a measure of which lower is better, else 1."""
    return -1 if sorted_by(shown).direction == "lower" else 1
