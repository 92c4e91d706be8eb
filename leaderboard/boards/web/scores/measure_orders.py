"""Agreement of rankings by measure, as page, JSON, CSV and LaTeX."""

from flask import Blueprint, request, url_for

from leaderboard.boards.page.scores import measure_orders, order_tables
from leaderboard.boards.page.scores.measure_orders import COEFFICIENTS, FORMS, Choice, OrdersPage
from leaderboard.web import http
from leaderboard.web.addresses import kept
from leaderboard.web.charts import Ranks, SlopeChart, slope_chart
from leaderboard.web.charts.planes import Pair, Plot, means_chart
from leaderboard.web.rules import PUBLIC, rule
from leaderboard.web.session import reading, viewer

blueprint = Blueprint("measure_orders", __name__)

STATE = ("x", "y", "coefficient", "standardised")
MOVES_AT_FIRST = 10
RUNS_AT_FIRST = 50


@http.with_files(
    blueprint,
    "/tasks/<slug>/measures",
    "boards/scores/measure_orders.html",
    order_tables.FILES,
    tables=lambda _: order_tables,
    args=lambda _: kept(STATE, flags=["all"]),
    whole=lambda _: "all" in request.args,
    coefficients=lambda _: COEFFICIENTS,
    forms=lambda _: FORMS,
    slopes=lambda page: _slopes(page),
    means=lambda page: _means(page),
    moves_at_first=lambda _: MOVES_AT_FIRST,
    runs_at_first=lambda _: RUNS_AT_FIRST,
)
@rule(PUBLIC, is_computed=True, carries="edition")
def show(slug: str) -> OrdersPage:
    """Agreement of all pairs of measures, and details of the selected pair."""
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


def _means(page: OrdersPage) -> Plot | None:
    """Scatter plot of runs by both measures, with the largest moves labelled."""
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
