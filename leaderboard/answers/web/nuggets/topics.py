"""The nuggets of a topic by run, and boards by separate judgment series."""

from flask import Blueprint, request

from leaderboard.answers.page.nuggets import line as nuggets_line
from leaderboard.answers.page.nuggets import topic
from leaderboard.answers.page.nuggets.line import LinePage
from leaderboard.answers.page.nuggets.topic import OF_NUGGETS, NuggetsPage
from leaderboard.scoring.ops.agreements import COEFFICIENTS
from leaderboard.web import http
from leaderboard.web.addresses import kept
from leaderboard.web.charts import scatter_chart
from leaderboard.web.charts.planes import Pair, ScatterChart
from leaderboard.web.rules import PUBLIC, rule
from leaderboard.web.session import reading, viewer

blueprint = Blueprint("nuggets", __name__)


@http.with_files(
    blueprint,
    "/tasks/<slug>/topics/<topic:topic_id>/nuggets",
    "answers/nuggets/topic.html",
    topic.TOPIC_FILES,
    shapes=lambda _: OF_NUGGETS,
    measured=lambda _: kept(("measure",)),
)
@rule(PUBLIC, carries="edition")
def show(slug: str, topic_id: str) -> NuggetsPage:
    """The nuggets of a topic by run."""
    return topic.nuggets_page(reading(), viewer(), slug, topic_id, request.args.get("measure") or None)


@http.with_files(
    blueprint,
    "/tasks/<slug>/lines/<id:line_id>",
    "answers/nuggets/line.html",
    nuggets_line.LINE_FILES,
    runs=nuggets_line.runs_table,
    topics=nuggets_line.topics_table,
    coefficients=lambda _: COEFFICIENTS,
    chart=lambda page: _ranks(page),
    args=lambda _: kept(("measure",)),
)
@rule(PUBLIC, is_computed=True)
def line(slug: str, line_id: int) -> LinePage:
    """The runs under a separate judgment series, and its agreement with the board."""
    return nuggets_line.line_page(reading(), viewer(), slug, line_id, request.args.get("measure") or None)


def _ranks(page: LinePage) -> ScatterChart | None:
    """Scatter plot of board ranks (x) and series ranks (y)."""
    pairs = [
        Pair(row.name, float(row.board_rank), float(row.rank))
        for row in page.rows
        if row.board_rank is not None and row.rank is not None
    ]
    return scatter_chart(pairs, digits=0) if len(pairs) > 1 else None
