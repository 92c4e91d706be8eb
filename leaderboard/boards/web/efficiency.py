"""Effectiveness and cost as page, JSON, CSV and LaTeX."""

from typing import Literal

from flask import Blueprint, render_template, request, url_for

from leaderboard.boards.page import efficiency
from leaderboard.boards.page.efficiency import CostedRun, EfficiencyPage
from leaderboard.web import http
from leaderboard.web.addresses import kept
from leaderboard.web.charts import Pair, ParetoChart, pareto_chart
from leaderboard.web.rules import PUBLIC, rule
from leaderboard.web.session import reading, viewer

blueprint = Blueprint("efficiency", __name__)

STATE = ("cost", "measure", "sort")
ROWS_AT_FIRST = 200
LEAST_DRAWN = 2
"""Minimum number of runs of a Pareto front."""


def _show_html(page: EfficiencyPage) -> str:
    rows = page.rows if "all" in request.args else page.rows[:ROWS_AT_FIRST]
    return render_template(
        "boards/efficiency.html",
        page=page,
        table=efficiency.table(page),
        rows=rows,
        args=kept(STATE, flags=["all"]),
        chart=_chart(page),
    )


@http.with_files(blueprint, "/tasks/<slug>/efficiency", _show_html, efficiency.FILES)
@rule(PUBLIC, carries="edition")
def show(slug: str) -> EfficiencyPage:
    """Runs that report a cost, the Pareto front, and the number without a cost."""
    return efficiency.efficiency_page(
        reading(),
        viewer(),
        slug,
        request.args.get("measure") or None,
        request.args.get("cost") or None,
        request.args.get("sort"),
    )


def _chart(page: EfficiencyPage) -> ParetoChart | None:
    """Chart of the runs that report the cost, in display units."""
    if len(page.drawn) < LEAST_DRAWN:
        return None
    runs = [_point(page, row) for row in page.drawn]
    direction: Literal["higher", "lower"] = "lower" if page.measure.lower_is_better else "higher"
    return pareto_chart(runs, direction=direction, digits=page.measure.digits)


def _point(page: EfficiencyPage, row: CostedRun) -> Pair:
    cost = row.costs[page.cost.field.key] / page.cost.unit.factor
    return Pair(row.name, cost, row.score, url_for("runs.show", run_id=row.run_id))
