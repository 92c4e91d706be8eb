"""A task's board as page, JSON, CSV and LaTeX."""

from typing import Any

from flask import Blueprint, redirect, render_template, request, url_for
from flask.typing import ResponseReturnValue

from leaderboard.errors import NotFound
from leaderboard.pages.boards import citations, files, latex, reliability
from leaderboard.pages.boards import view as board_views
from leaderboard.pages.boards.view import View, Wish
from leaderboard.services.boards import board as boards
from leaderboard.services.boards.board import Board
from leaderboard.services.boards.rows import Row
from leaderboard.services.statistics import requests
from leaderboard.services.statistics.requests import Waiting
from leaderboard.services.statistics.standings import PairOfRuns, Standing
from leaderboard.web import moments, responses
from leaderboard.web.charts import Interval, IntervalChart, interval_chart
from leaderboard.web.charts.intervals import Kind
from leaderboard.web.rules import PUBLIC, SIGNED_IN, rule
from leaderboard.web.security import own_origin
from leaderboard.web.session import reading, viewer, wake, writing

blueprint = Blueprint("boards", __name__)

ROWS_AT_FIRST = 200
CHART_AT_FIRST = 60
"""Runs in the plot of differences of a board that was not asked for whole."""
FILTER_FROM = 10
"""Runs from which on a board offers to be searched without being asked."""
STATE = (
    *("measure", "edition", "at", "one", "all", "ranges", "bounds", "run", "reference"),
    *("q", "team", "kind", "tag", "field", "value", "own", "pin", "columns"),
)
MANY = ("columns",)
"""Parts of the address that may be there several times."""
FLAGS = frozenset({"all", "ranges", "bounds", "own"})
"""Parts of the address that say something without a value."""
FILTERS = ("q", "team", "kind", "tag", "field", "value", "own")
LONGEST = 200


@blueprint.get("/tasks/<slug>")
@rule(PUBLIC)
def board(slug: str) -> ResponseReturnValue:
    """The board: runs ranked by the measure chosen, and what may be said of their order."""
    shown, view = _viewed(slug)
    rows = view.rows if "all" in request.args else view.rows[:ROWS_AT_FIRST]
    marked, reference = _number("run"), _reference(shown)
    charted = _charted((*view.baselines, *rows), shown, reference)
    html = render_template(
        "boards/board.html",
        board=shown,
        view=view,
        rows=rows,
        args=_state(),
        filters=FILTERS,
        is_long=len(shown.rows) >= FILTER_FROM,
        marked=next((row for row in shown.rows if row.run_id == marked), None),
        like_marked=_like(shown, marked),
        reference=reference,
        chart=_chart(shown, reference, charted if "all" in request.args else charted[:CHART_AT_FIRST]),
        cut=CHART_AT_FIRST if len(charted) > CHART_AT_FIRST and "all" not in request.args else 0,
        reliability=reliability.of_board(reading(), shown),
        waiting=shown.standing if isinstance(shown.standing, Waiting) else None,
        citation=citations.of_board(shown, _address(shown)),
    )
    return responses.page(html)


@blueprint.get("/tasks/<slug>.json")
@rule(PUBLIC)
def board_json(slug: str) -> ResponseReturnValue:
    """The board as JSON."""
    return responses.as_json(files.as_json(*_viewed(slug)))


@blueprint.get("/tasks/<slug>.csv")
@rule(PUBLIC)
def board_csv(slug: str) -> ResponseReturnValue:
    """The board as CSV."""
    return responses.as_csv(files.table(*_viewed(slug)), slug)


@blueprint.get("/tasks/<slug>.tex")
@rule(PUBLIC)
def board_latex_table(slug: str) -> ResponseReturnValue:
    """The board as a LaTeX table."""
    return responses.as_latex(latex.table(*_viewed(slug)), slug)


@blueprint.post("/tasks/<slug>/standing")
@rule(SIGNED_IN)
def standing(slug: str) -> ResponseReturnValue:
    """Have the comparison computed that the board at this address waits for."""
    waiting = _board(slug).standing
    if isinstance(waiting, Waiting):
        with writing() as session:
            requests.ask(session, waiting.request)
        wake()
    return redirect(url_for("boards.board", slug=slug, **_state()), 303)


def _board(slug: str) -> Board:
    return boards.board(
        reading(),
        viewer(),
        slug,
        request.args.get("measure"),
        _edition(),
        one_per_team=request.args.get("one") == "team",
        at=moments.as_of(reading(), request.args["at"]) if request.args.get("at") else None,
    )


def _viewed(slug: str) -> tuple[Board, View]:
    """The board, and what of it this address asks to see."""
    shown = _board(slug)
    return shown, board_views.view(reading(), viewer(), shown, _wish())


def _wish() -> Wish:
    args = request.args
    asked = {name: args.get(name, "").strip()[:LONGEST] for name in ("team", "kind", "tag", "field", "value")}
    return Wish(
        search=args.get("q", "").strip()[:LONGEST],
        own="own" in args,
        columns=tuple(filter(None, args.getlist("columns"))),
        in_line=args.get("pin") == "no",
        bounds="bounds" in args,
        ranges="ranges" in args,
        **asked,
    )


def _edition() -> int | None:
    text = request.args.get("edition")
    if text is None:
        return None
    number = _number("edition")
    if number is None:
        raise NotFound(f"There is no edition {text[:20]!r} of this board.")
    return number


def _number(name: str) -> int | None:
    text = request.args.get(name, "")
    return int(text) if text.isascii() and text.isdigit() and len(text) < 10 else None


def _address(shown: Board) -> str:
    """Where exactly this board can be read again, for whoever cites it."""
    keys = ("measure", "edition", "at", "one")
    state = {key: value for key, value in _state().items() if key in keys}
    if shown.basis is not None and "at" not in state:
        state["edition"] = shown.basis.edition
    return own_origin() + url_for("boards.board", slug=shown.slug, **state)


def _state() -> dict[str, Any]:
    """The parts of the address that choose what is shown, to be kept in links."""
    given = request.args
    there = (key for key in STATE if given.get(key) or (key in FLAGS and key in given))
    one = {key: given[key] for key in there if key not in MANY}
    return {**one, **{key: found for key in MANY if (found := [each for each in given.getlist(key) if each])}}


def _like(shown: Board, marked: int | None) -> frozenset[int]:
    """The runs that the marked one cannot be told apart from."""
    if isinstance(shown.standing, Standing) and marked in shown.places:
        return shown.standing.undecided_with(marked)
    return frozenset()


def _reference(shown: Board) -> Row | None:
    """The run that others are shown against: the one asked for, such as a baseline, else the leader."""
    scored = [row for row in shown.rows if row.scores.get(shown.sorted_by) is not None]
    wanted = _number("reference")
    leader = next((row for row in scored if row.run_id in shown.places), None)
    return next((row for row in scored if row.run_id == wanted), leader) if shown.places else None


def _charted(rows: tuple[Row, ...], shown: Board, reference: Row | None) -> list[Row]:
    """Of the rows listed those that a plot of differences has: ranked runs and the reference."""
    return [row for row in rows if row.run_id in shown.places or row is reference]


def _chart(shown: Board, reference: Row | None, rows: list[Row]) -> IntervalChart | None:
    """Each of the runs' differences from the reference, with its paired interval."""
    wanted = [row.run_id for row in rows]
    pairs = boards.differences(reading(), shown, reference.run_id, wanted) if reference else {}
    if not pairs or reference is None:
        return None
    digits = next(each.digits for each in shown.measures if each.key == shown.sorted_by)
    there = [row for row in rows if row.run_id in pairs or row.run_id == reference.run_id]
    return interval_chart([_interval(shown, row, pairs.get(row.run_id)) for row in there], digits=digits)


def _interval(shown: Board, row: Row, pair: PairOfRuns | None) -> Interval:
    link = url_for("runs.show", run_id=row.run_id)
    if pair is None:
        return Interval(row.run, 0.0, 0.0, 0.0, "reference", link)
    kind: Kind = "highlight" if shown.places[row.run_id].best_set else "plain"
    return Interval(row.run, pair.difference, pair.low, pair.high, kind, link)
