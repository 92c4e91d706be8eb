"""Get the intervals of means and ranks on a leaderboard, as page, JSON, CSV and LaTeX."""

from flask import Blueprint, request, url_for

from leaderboard.boards.page import intervals
from leaderboard.boards.page.intervals import IntervalsPage
from leaderboard.scoring.ops.statistics.requests import computing
from leaderboard.web import actions, http
from leaderboard.web.addresses import kept
from leaderboard.web.charts import Interval, IntervalChart, interval_chart
from leaderboard.web.rules import PUBLIC, rule
from leaderboard.web.session import reading, viewer

blueprint = Blueprint("intervals", __name__)

STATE = ("measure",)
ROWS_AT_FIRST = 200


@http.with_files(
    blueprint,
    "/tasks/<slug>/intervals",
    "boards/intervals.html",
    intervals.FILES,
    table=intervals.table,
    args=lambda _: kept(STATE, flags=["one", "all"]),
    rows=lambda page: page.rows if "all" in request.args else page.rows[:ROWS_AT_FIRST],
    chart=lambda page: _chart(page),
)
@rule(PUBLIC, is_computed=True, carries="edition")
def show(slug: str) -> IntervalsPage:
    """The page of intervals of means and ranks."""
    return intervals.page(
        reading(), viewer(), slug, request.args.get("measure"), one_per_team=request.args.get("one") == "team"
    )


actions.add_to(
    blueprint,
    [computing("ask", lambda _, __, slug: show(slug).waiting, "/tasks/<slug>/intervals", "intervals.show")],
)


def _chart(page: IntervalsPage) -> IntervalChart | None:
    """Chart of means with their intervals."""
    drawn = [
        Interval(
            row.name, row.value, row.mean_low, row.mean_high, href=url_for("runs.show", run_id=row.run_id)
        )
        for row in page.rows
        if row.mean_low is not None and row.mean_high is not None
    ]
    return interval_chart(drawn, differences=False, digits=page.measure.digits) if drawn else None
