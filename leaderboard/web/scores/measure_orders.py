"""How the orders by a task's measures agree, as page, JSON, CSV and LaTeX."""

from flask import Blueprint, render_template, request, url_for
from flask.typing import ResponseReturnValue

from leaderboard.pages.scores import measure_orders, order_tables
from leaderboard.pages.scores.measure_agreement import COEFFICIENTS
from leaderboard.pages.scores.measure_orders import FORMS, Choice, OrdersPage
from leaderboard.web import responses
from leaderboard.web.addresses import kept
from leaderboard.web.charts import Ranks, SlopeChart, slope_chart
from leaderboard.web.charts.means import MeansChart, means_chart
from leaderboard.web.charts.scatter import Pair
from leaderboard.web.rules import PUBLIC, rule
from leaderboard.web.session import reading, viewer

blueprint = Blueprint("measure_orders", __name__)

STATE = ("x", "y", "coefficient", "standardised")
MOVES_AT_FIRST = 10
RUNS_AT_FIRST = 50


@blueprint.get("/tasks/<slug>/measures")
@rule(PUBLIC, is_computed=True)
def show(slug: str) -> ResponseReturnValue:
    """Agreement of any two measures, and the two chosen closely."""
    page = _page(slug)
    html = render_template(
        "scores/measure_orders.html",
        page=page,
        tables=order_tables,
        args=kept(STATE, flags=["all"]),
        whole="all" in request.args,
        coefficients=COEFFICIENTS,
        forms=FORMS,
        slopes=_slopes(page),
        means=_means(page),
        moves_at_first=MOVES_AT_FIRST,
        runs_at_first=RUNS_AT_FIRST,
    )
    return responses.page(html)


@blueprint.get("/tasks/<slug>/measures.<form:form>")
@rule(PUBLIC, is_computed=True)
def export(slug: str, form: str) -> ResponseReturnValue:
    """All coefficients, and every run's value and rank by every measure, as a file."""
    return responses.export(form, order_tables.FILES, _page(slug))


def _page(slug: str) -> OrdersPage:
    chosen = (request.args.get(name, "") for name in STATE)
    return measure_orders.page(reading(), viewer(), slug, Choice(*chosen))


def _slopes(page: OrdersPage) -> SlopeChart | None:
    if page.pair is None:
        return None
    moves = sorted(page.pair.moves, key=lambda move: move.at)
    return slope_chart(
        [
            Ranks(page.runs[move.at].name, move.first_rank, move.second_rank, _link(page, move.at))
            for move in moves
        ]
    )


def _means(page: OrdersPage) -> MeansChart | None:
    """The runs by both measures, those that move most named."""
    if page.pair is None:
        return None
    first, second = (page.columns.index(measure) for measure in (page.pair.first, page.pair.second))
    runs = [
        Pair(
            page.runs[move.at].name,
            page.runs[move.at].values[first],
            page.runs[move.at].values[second],
            _link(page, move.at),
        )
        for move in page.pair.moves
    ]
    named = sum(move.move != 0 for move in page.pair.moves)
    digits = page.pair.first.digits, page.pair.second.digits
    return means_chart(runs, named=min(named, 6), digits=digits)


def _link(page: OrdersPage, at: int) -> str:
    return url_for("runs.show", run_id=page.runs[at].run_id)
