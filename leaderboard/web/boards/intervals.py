"""The intervals of means and ranks on a board, as page, JSON, CSV and LaTeX."""

from flask import Blueprint, redirect, render_template, request, url_for
from flask.typing import ResponseReturnValue

from leaderboard.pages.boards import intervals
from leaderboard.pages.boards.intervals import IntervalsPage
from leaderboard.web import responses
from leaderboard.web.addresses import kept
from leaderboard.web.charts import Interval, IntervalChart, interval_chart
from leaderboard.web.rules import PUBLIC, SIGNED_IN, rule
from leaderboard.web.session import have_computed, reading, viewer

blueprint = Blueprint("intervals", __name__)

STATE = ("measure",)
ROWS_AT_FIRST = 200


@blueprint.get("/tasks/<slug>/intervals")
@rule(PUBLIC, is_computed=True)
def show(slug: str) -> ResponseReturnValue:
    """What is known of each run's mean and rank."""
    page = _page(slug)
    html = render_template(
        "boards/intervals.html",
        page=page,
        table=intervals.table(page),
        args=kept(STATE, flags=["one", "all"]),
        rows=page.rows if "all" in request.args else page.rows[:ROWS_AT_FIRST],
        chart=_chart(page),
    )
    return responses.page(html)


@blueprint.get("/tasks/<slug>/intervals.<form:form>")
@rule(PUBLIC, is_computed=True)
def export(slug: str, form: str) -> ResponseReturnValue:
    """The intervals as a file."""
    return responses.export(form, intervals.FILES, _page(slug))


@blueprint.post("/tasks/<slug>/intervals")
@rule(SIGNED_IN)
def ask(slug: str) -> ResponseReturnValue:
    """Have everything computed that the page at this address waits for."""
    have_computed(_page(slug).waiting)
    return redirect(url_for("intervals.show", slug=slug, **kept(STATE, flags=["one", "all"])), 303)


def _page(slug: str) -> IntervalsPage:
    return intervals.page(
        reading(), viewer(), slug, request.args.get("measure"), one_per_team=request.args.get("one") == "team"
    )


def _chart(page: IntervalsPage) -> IntervalChart | None:
    """Every run's mean with the interval of its own."""
    drawn = [
        Interval(
            row.name, row.value, row.mean_low, row.mean_high, href=url_for("runs.show", run_id=row.run_id)
        )
        for row in page.rows
        if row.mean_low is not None and row.mean_high is not None
    ]
    return interval_chart(drawn, differences=False, digits=page.measure.digits) if drawn else None
