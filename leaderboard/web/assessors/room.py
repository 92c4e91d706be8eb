"""The judging room of a pool: a page for a screen that renews itself, and its tables as files."""

from typing import Any

from flask import Blueprint, Response, redirect, render_template, request, url_for
from flask.typing import ResponseReturnValue

from leaderboard.pages.room import tables
from leaderboard.pages.room.orders import OrderedRun
from leaderboard.pages.room.room import JudgingRoom, judging_room, room_on_screen
from leaderboard.services.assessors import screens
from leaderboard.web import responses
from leaderboard.web.addresses import kept
from leaderboard.web.charts.room import RankCell, bar_strip, rank_cell
from leaderboard.web.rules import PUBLIC, SIGNED_IN, rule
from leaderboard.web.session import reading, viewer, writing

blueprint = Blueprint("room", __name__)

FLAGS = ("organisers", "all")
ROWS_AT_FIRST = 15
"""As many rows can be read from the back of a room."""


@blueprint.get("/tasks/<slug>/pools/<id:number>/room")
@rule(SIGNED_IN)
def show(slug: str, number: int) -> ResponseReturnValue:
    """What the judgments of a pool come to, live."""
    return responses.page(_room(slug, number))


@blueprint.get("/screen/<token>")
@rule(PUBLIC)
def screen(token: str) -> ResponseReturnValue:
    """The same on a screen where nobody is signed in; the address is a secret."""
    page = room_on_screen(reading(), token)
    here = url_for("room.screen", token=token, **kept((), flags=FLAGS[1:]))
    html = render_template("assessors/screen.html", here=here, link="", **shown(page))
    response = Response(html, mimetype="text/html")
    response.headers["Cache-Control"] = "no-store"
    response.headers["X-Robots-Tag"] = "noindex"
    response.headers["Referrer-Policy"] = "no-referrer"
    return response


@blueprint.post("/tasks/<slug>/pools/<id:number>/room/link")
@rule(SIGNED_IN)
def make_link(slug: str, number: int) -> ResponseReturnValue:
    """Make a link for a screen in place of the one before, and show it, this once."""
    asker = viewer()
    with writing() as session:
        token = screens.make(session, asker, slug, number)
    return _room(slug, number, link=url_for("room.screen", token=token, _external=True)), 201


@blueprint.post("/tasks/<slug>/pools/<id:number>/room/end")
@rule(SIGNED_IN)
def end_link(slug: str, number: int) -> ResponseReturnValue:
    """End the link for a screen."""
    asker = viewer()
    with writing() as session:
        screens.end(session, asker, slug, number)
    return redirect(url_for("room.show", slug=slug, number=number), 303)


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


def _room(slug: str, number: int, link: str = "") -> str:
    args = kept((), flags=FLAGS)
    here = url_for("room.show", slug=slug, number=number, **args)
    return render_template(
        "assessors/room.html", here=here, args=args, link=link, **shown(_page(slug, number))
    )


def _page(slug: str, number: int) -> JudgingRoom:
    return judging_room(reading(), viewer(), slug, number, for_organisers="organisers" in request.args)


def _place(row: OrderedRun, runs: int) -> RankCell | None:
    if row.soon is None or row.later is None:
        return None
    return rank_cell(row.rank, (row.soon.first, row.soon.last), (row.later.first, row.later.last), runs)
