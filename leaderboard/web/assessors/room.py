"""The judging room of a pool: a page for a screen that renews itself, and its tables as files."""

from typing import Any

from flask import Blueprint, render_template, request, url_for
from flask.typing import ResponseReturnValue

from leaderboard.pages.room import tables
from leaderboard.pages.room.orders import OrderedRun
from leaderboard.pages.room.room import JudgingRoom, judging_room
from leaderboard.web import responses
from leaderboard.web.addresses import kept
from leaderboard.web.charts.room import RankCell, bar_strip, rank_cell
from leaderboard.web.rules import SIGNED_IN, rule
from leaderboard.web.session import reading, viewer

blueprint = Blueprint("room", __name__)

FLAGS = ("organisers", "all")
ROWS_AT_FIRST = 15
"""As many rows can be read from the back of a room."""


@blueprint.get("/tasks/<slug>/pools/<id:number>/room")
@rule(SIGNED_IN)
def show(slug: str, number: int) -> ResponseReturnValue:
    """What the judgments of a pool come to, live."""
    args = kept((), flags=FLAGS)
    here = url_for("room.show", slug=slug, number=number, **args)
    return responses.page(
        render_template("assessors/room.html", here=here, args=args, **shown(_page(slug, number)))
    )


@blueprint.get("/tasks/<slug>/pools/<id:number>/room.<form:form>")
@rule(SIGNED_IN)
def export(slug: str, number: int, form: str) -> ResponseReturnValue:
    """The room as JSON, or one of its tables as CSV or LaTeX."""
    return responses.export(form, tables.FILES, _page(slug, number))


def shown(page: JudgingRoom) -> dict[str, Any]:
    """What the template of a room needs."""
    order = page.numbers.order
    rows = order.rows if order else ()
    most = max((max(pace.counts) for pace in page.paces), default=0)
    return {
        "page": page,
        "runs": tables.runs_table(page),
        "rows": rows if "all" in request.args else rows[:ROWS_AT_FIRST],
        "places": {row.run_id: _place(row, len(rows)) for row in rows},
        "assessors": tables.assessors_table(page),
        "strips": {pace.judge.id: bar_strip(pace.counts, max(1, most)) for pace in page.paces},
        "topics": bar_strip([topic.share for topic in page.numbers.topics], 1.0),
        "curve": bar_strip([max(0.0, point.alpha) for point in page.numbers.agreement.points], 1.0),
    }


def _page(slug: str, number: int) -> JudgingRoom:
    return judging_room(reading(), viewer(), slug, number, for_organisers="organisers" in request.args)


def _place(row: OrderedRun, runs: int) -> RankCell | None:
    if row.soon is None or row.later is None:
        return None
    return rank_cell(row.rank, (row.soon.first, row.soon.last), (row.later.first, row.later.last), runs)
