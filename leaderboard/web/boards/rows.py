"""The rows of a board as its page lists them: addresses, and what depends on the reader, worked out once."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from flask import url_for
from markupsafe import Markup, escape

from leaderboard.pages.boards.view import Bounds, Coverage, View
from leaderboard.services.boards.rows import Row
from leaderboard.services.evaluations.choices import MeasureColumn
from leaderboard.services.policy import Viewer
from leaderboard.services.statistics.standings import Place, Standing
from leaderboard.tables.words import counted
from leaderboard.web.addresses import addresses_by_id
from leaderboard.web.charts.planes import BoardMeans
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
NOT_SETTLED = "Not the best: some run with a dot is better; which one is not settled."
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
    waiting: str
    """Why it has no scores; empty where it has."""
    href: str
    mark_href: str
    """The board with the runs that this one cannot be told apart from marked."""
    score: Markup
    """What it got by the measure that the board is ranked by."""
    mean: Markup
    """Its mean on the axis of all; empty where that is not drawn."""
    verdict: Markup
    """How many runs it beats, how many are undecided, how many beat it; empty where it has no place."""
    others: Markup
    """The cells of the other measures."""


def listed(
    view: View,
    rows: Iterable[Row],
    viewer: Viewer,
    args: dict[str, Any],
    marked: int | None,
    means: BoardMeans | None,
) -> tuple[ListedRow, ...]:
    """The rows as a reader is shown them, in order; args are what the address keeps, marked is a run's id.

    Cells that every row has are written here: of a large board there are some thousand, and macros for them
    take longer than all else.
    """
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
            waiting="" if row.state in SCORED else STATES.get(row.state, row.state),
            href=run_address(row.run_id),
            mark_href=(mark_href := f"{mark_address}{row.run_id}"),
            mean=_mean(row, places.get(row.run_id), means),
            verdict=_verdict(row, places.get(row.run_id), len(places), mark_href),
            score=Markup(_score(row, by, held)),
            others=Markup(
                "".join(f'<td class="number">{_score(row, column, held)}</td>' for column in others)
            ),
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


def _mean(row: Row, place: Place | None, means: BoardMeans | None) -> Markup:
    """The drawing of a run's mean in its cell, see `BoardMeans`."""
    if means is None or (cell := means.cells.get(row.run_id)) is None:
        return Markup("")
    kind = "top" if place is not None and place.best_set else "mark"
    return Markup(
        f'<svg class="chart mean" viewBox="0 0 {means.width} {means.height}" role="img"'
        f' aria-label="{cell.label}"><title>{cell.label}</title><use href="#field"></use>'
        f'<path class="span" d="M{cell.low} {means.middle}H{cell.high}"></path>'
        f'<circle class="{kind}" cx="{cell.x}" cy="{means.middle}" r="3.5"></circle></svg>'
    )


def _verdict(row: Row, place: Place | None, runs: int, mark_href: str) -> Markup:
    """A bar of the other runs, those that a run beats and those that beat it, and their numbers."""
    if place is None:
        return Markup("")
    each = BAR / (runs - 1) if runs > 1 else 0.0
    beats_to = round(each * place.beats, 1)
    beaten_from = round(BAR - each * max(place.named, place.beaten_by), 1)
    bar = f'<rect class="plus" width="{beats_to}" height="6"></rect>' if beats_to else ""
    if beaten_from < BAR:
        width = round(BAR - beaten_from, 1)
        bar += f'<rect class="minus" x="{beaten_from}" y="2" width="{width}" height="2"></rect>'
    undecided, beaten_by = "0", f"{place.beaten_by}"
    if place.undecided:
        label = f"{place.undecided}: mark the runs that {escape(row.run)} cannot be told apart from"
        undecided = f'<a href="{escape(mark_href)}" aria-label="{label}">{place.undecided}</a>'
    if place.beaten_by and not place.named:
        beaten_by = f'<abbr title="{NOT_SETTLED}">{place.beaten_by}+</abbr>'
    return Markup(
        '<svg class="chart bar" viewBox="0 0 66 6" aria-hidden="true">'
        '<rect class="box" width="66" height="6"></rect>'
        f"{bar}</svg>\n  <small>{place.beats} · {undecided} · {beaten_by}</small>"
    )


def _like(view: View, marked: int | None) -> frozenset[int]:
    """The runs that the marked one cannot be told apart from."""
    standing = view.board.standing
    if isinstance(standing, Standing) and marked is not None and marked in view.board.places:
        return standing.undecided_with(marked)
    return frozenset()


def _classes(**flags: bool) -> str:
    return " ".join(name for name, is_on in flags.items() if is_on)
