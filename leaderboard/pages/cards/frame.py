"""The bare board of a task, for a frame within a page elsewhere: its first runs by one measure."""

from dataclasses import dataclass, replace

from sqlalchemy.orm import Session

from leaderboard.pages.cards.card import rests_on, visitor
from leaderboard.services import policy
from leaderboard.services.boards import board as boards
from leaderboard.services.boards.board import Board
from leaderboard.services.boards.rows import Row
from leaderboard.services.policy import TaskMemo
from leaderboard.tables.record import Column, Table, columns_from

ROWS, MOST_ROWS = 10, 50


@dataclass(frozen=True, slots=True)
class FramePage:
    """What a frame shows; rows are empty where scores are held back or no run has any."""

    board: Board
    rows: tuple[Row, ...]
    more: int
    """How many runs of the board are not in it."""
    basis: str
    origins: tuple[str, ...]
    """Whose pages may show it."""


def frame(session: Session, slug: str, measure: str | None, rows: int, phase: str = "") -> FramePage:
    """The frame of a task as a visitor may see it, with so many rows at most.

    Raises NotFound where a visitor may not know of the task or the phase, UnknownMeasure as the board does.
    """
    asker = replace(visitor(phase), memo=TaskMemo())
    shown = boards.board(session, asker, slug, measure)
    scored = tuple(row for row in shown.rows if row.scores.get(shown.sorted_by) is not None)
    listed = scored[: max(1, min(rows, MOST_ROWS))]
    return FramePage(
        board=shown,
        rows=listed,
        more=len(shown.rows) - len(listed),
        basis=rests_on(shown.basis),
        origins=origins_of(policy.task_context(session, asker, slug).task.frames),
    )


def origins_of(frames: str) -> tuple[str, ...]:
    """The origins of a task's setting."""
    return tuple(frames.split())


def table(page: FramePage) -> Table[Row]:
    """The rows with rank range, name, team and score."""
    shown = page.board
    by = shown.sorted_by
    return Table(
        f"{shown.slug}-frame",
        f"{shown.task}, ranked by {shown.ranked_by}.",
        columns_from(
            Row,
            Column("rank", lambda row: row.rank, "Rank", words=lambda row: _ranks(shown, row), digits=0),
            "run run_id team",
            Column(by, lambda row: row.scores[by], digits=shown.sight.decimals or shown.by.digits),
        ),
        page.rows,
    )


def _ranks(shown: Board, row: Row) -> str | None:
    """The ranks that a run may have, where that can be said, else the one that it has."""
    place = shown.places.get(row.run_id)
    if place is None or place.rank_low == place.rank_high:
        return None if row.rank is None else str(row.rank)
    return f"{place.rank_low}–{place.rank_high}"
