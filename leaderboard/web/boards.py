"""A task's board as page, JSON and CSV."""

from flask import Blueprint, render_template, request
from flask.typing import ResponseReturnValue

from leaderboard.errors import NotFound
from leaderboard.services import boards
from leaderboard.services.boards import Board
from leaderboard.web import tables
from leaderboard.web.rules import PUBLIC, rule
from leaderboard.web.session import reading, viewer

blueprint = Blueprint("boards", __name__)

ROWS_AT_FIRST = 200


@blueprint.get("/tasks/<slug>")
@rule(PUBLIC)
def board(slug: str) -> ResponseReturnValue:
    """The board: runs ranked by the measure chosen."""
    shown = _board(slug)
    rows = shown.rows if "all" in request.args else shown.rows[:ROWS_AT_FIRST]
    return tables.page(render_template("boards/board.html", board=shown, rows=rows, args=_state()))


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


def _board(slug: str) -> Board:
    return boards.board(reading(), viewer(), slug, request.args.get("measure"), _edition())


def _edition() -> int | None:
    text = request.args.get("edition")
    if text is None:
        return None
    if not (text.isascii() and text.isdigit() and len(text) < 10):
        raise NotFound(f"There is no edition {text[:20]!r} of this board.")
    return int(text)


def _state() -> dict[str, str]:
    """The parts of the address that choose what is shown, to be kept in links."""
    return {key: request.args[key] for key in ("measure", "edition", "all") if key in request.args}
