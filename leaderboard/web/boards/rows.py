"""The rows of a board as its page lists them: addresses, and what depends on the reader, worked out once."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from flask import url_for
from markupsafe import Markup

from leaderboard.pages.boards.coverage import Bounds, Coverage
from leaderboard.pages.boards.view import View
from leaderboard.services.boards.rows import Row
from leaderboard.services.evaluations.columns import MeasureColumn
from leaderboard.services.policy import Viewer
from leaderboard.services.statistics.standings import Place, Standing
from leaderboard.tables.words import counted
from leaderboard.web.addresses import addresses_by_id
from leaderboard.web.filters import score, without

STATES = {
    "waiting": "waiting for judgments",
    "queued": "queued",
    "running": "being scored",
    "failed": "scoring failed",
}
"""What stands in place of scores."""
BAR = 66.0
"""The width of a bar of all other runs."""
SCORED = frozenset({"done", "valid"})


@dataclass(frozen=True, slots=True)
class ListedRow:
    """A row with all that its line of the table shows."""

    row: Row
    place: Place | None
    coverage: Coverage | None
    bounds: Bounds | None
    css: str
    """The classes of its line: own, like (the marked run), marked, cut (each above beats each below)."""
    is_like_marked: bool
    is_outside: bool
    """Whether it is probably outside of the pool."""
    may_be_ticked: bool
    is_ticked: bool
    beats_to: float
    """Where the part of its bar ends that stands for the runs it beats, in units of BAR."""
    beaten_from: float
    """Where the part begins for those that beat it."""
    waiting: str
    """Why it has no scores; empty where it has."""
    href: str
    mark_href: str
    """The board with the runs that this one cannot be told apart from marked."""
    score: Markup
    """What it got by the measure that the board is ranked by."""
    others: Markup
    """The cells of the other measures: a macro for each of a large board's thousands takes longer than all else."""


def listed(
    view: View, rows: Iterable[Row], viewer: Viewer, args: dict[str, Any], marked: int | None
) -> tuple[ListedRow, ...]:
    """The rows as a reader is shown them, in order; args are what the address keeps, marked is a run's id."""
    shown, places = view.board, view.board.places
    by, held = shown.by, shown.sight.decimals
    others = [column for column in view.measures if column.key != by.key]
    like, cuts, ticked = _like(view, marked), view.cuts, frozenset(args.get("ticked", ()))
    run_address = addresses_by_id("runs.show", "run_id")
    state: dict[str, Any] = {**without(args, "run"), "run": ""}
    mark_address = url_for("boards.board", slug=shown.slug, **state)
    return tuple(
        ListedRow(
            row=row,
            place=places.get(row.run_id),
            coverage=view.coverage.get(row.run_id),
            bounds=view.bounds.get(row.run_id),
            css=_classes(
                own=row.team_id in viewer.team_ids,
                like=row.run_id in like,
                marked=row.run_id == marked,
                cut=row.run_id in cuts,
            ),
            is_like_marked=row.run_id in like,
            is_outside=row.run_id in view.outside,
            may_be_ticked=shown.sight.details and row.state == "done",
            is_ticked=str(row.run_id) in ticked,
            **_bar(places.get(row.run_id), len(places)),
            waiting="" if row.state in SCORED else STATES.get(row.state, row.state),
            href=run_address(row.run_id),
            mark_href=f"{mark_address}{row.run_id}",
            score=Markup(_score(row, by, held)),
            others=Markup("".join(f'<td class="number">{_score(row, column, held)}</td>' for column in others)),
        )
        for row in rows
    )


def _score(row: Row, column: MeasureColumn, held: int | None) -> str:
    """What a run got by a measure, as HTML; where that is over some topics only, over how many."""
    digits = held or column.digits
    if (partial := row.partial.get(column.key)) is None:
        return score(row.scores[column.key], digits)
    topics = f"{partial.judged} of {counted(partial.topics, 'topic')}"
    return f'<span class="dim partial">{score(partial.mean, digits)} <small>{topics}</small></span>'


def _bar(place: Place | None, runs: int) -> dict[str, float]:
    """How many of the other runs a run beats, and how many beat it, as parts of a bar."""
    if place is None or runs < 2:
        return {"beats_to": 0.0, "beaten_from": BAR}
    each = BAR / (runs - 1)
    return {
        "beats_to": round(each * place.beats, 1),
        "beaten_from": round(BAR - each * max(place.named, place.beaten_by), 1),
    }


def _like(view: View, marked: int | None) -> frozenset[int]:
    """The runs that the marked one cannot be told apart from."""
    standing = view.board.standing
    if isinstance(standing, Standing) and marked is not None and marked in view.board.places:
        return standing.undecided_with(marked)
    return frozenset()


def _classes(**flags: bool) -> str:
    return " ".join(name for name, is_on in flags.items() if is_on)
