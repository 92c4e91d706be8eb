"""A task's board as page, JSON and CSV."""

from typing import Any

from flask import Blueprint, redirect, render_template, request, url_for
from flask.typing import ResponseReturnValue

from leaderboard.errors import NotFound
from leaderboard.services import boards, reliability, statistics
from leaderboard.services.boards import Board, Row
from leaderboard.services.standings import PairOfRuns, Standing
from leaderboard.services.statistics import Waiting
from leaderboard.web import tables
from leaderboard.web.charts import Interval, IntervalChart, interval_chart
from leaderboard.web.charts.intervals import Kind
from leaderboard.web.rules import PUBLIC, SIGNED_IN, rule
from leaderboard.web.session import reading, viewer, wake, writing

blueprint = Blueprint("boards", __name__)

ROWS_AT_FIRST = 200
RANGES_UP_TO = 20
"""Ranked runs of a board that shows rank ranges without being asked."""
STATE = ("measure", "edition", "one", "all", "ranges", "run", "reference")


@blueprint.get("/tasks/<slug>")
@rule(PUBLIC)
def board(slug: str) -> ResponseReturnValue:
    """The board: runs ranked by the measure chosen, and what may be said of their order."""
    shown = _board(slug)
    rows = shown.rows if "all" in request.args else shown.rows[:ROWS_AT_FIRST]
    marked, reference = _number("run"), _reference(shown)
    html = render_template(
        "boards/board.html",
        board=shown,
        rows=rows,
        args=_state(),
        ranges="ranges" in request.args or 0 < len(shown.places) <= RANGES_UP_TO,
        marked=next((row for row in shown.rows if row.run_id == marked), None),
        like_marked=_like(shown, marked),
        reference=reference,
        chart=_chart(shown, reference),
        reliability=reliability.of_board(reading(), shown),
        waiting=shown.standing if isinstance(shown.standing, Waiting) else None,
    )
    return tables.page(html)


@blueprint.get("/tasks/<slug>.json")
@rule(PUBLIC)
def board_json(slug: str) -> ResponseReturnValue:
    """The board as JSON."""
    return tables.as_json(boards.as_json(_board(slug)))


@blueprint.get("/tasks/<slug>.csv")
@rule(PUBLIC)
def board_csv(slug: str) -> ResponseReturnValue:
    """The board as CSV."""
    return tables.as_csv(boards.table(_board(slug)), slug)


@blueprint.post("/tasks/<slug>/standing")
@rule(SIGNED_IN)
def standing(slug: str) -> ResponseReturnValue:
    """Have the comparison computed that the board at this address waits for."""
    waiting = _board(slug).standing
    if isinstance(waiting, Waiting):
        with writing() as session:
            statistics.ask(session, waiting.request)
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


def _state() -> dict[str, Any]:
    """The parts of the address that choose what is shown, to be kept in links."""
    return {key: request.args[key] for key in STATE if key in request.args}


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


def _chart(shown: Board, reference: Row | None) -> IntervalChart | None:
    """Each ranked run's difference from the reference, with its paired interval."""
    pairs = boards.differences(reading(), shown, reference.run_id) if reference else {}
    if not pairs or reference is None:
        return None
    digits = next(each.digits for each in shown.measures if each.key == shown.sorted_by)
    rows = [row for row in shown.rows if row.run_id in shown.places or row.run_id == reference.run_id]
    return interval_chart([_interval(shown, row, pairs.get(row.run_id)) for row in rows], digits=digits)


def _interval(shown: Board, row: Row, pair: PairOfRuns | None) -> Interval:
    link = url_for("runs.show", run_id=row.run_id)
    if pair is None:
        return Interval(row.run, 0.0, 0.0, 0.0, "reference", link)
    kind: Kind = "highlight" if shown.places[row.run_id].best_set else "plain"
    return Interval(row.run, pair.difference, pair.low, pair.high, kind, link)
