"""The nuggets of a topic by run, and boards by separate judgment series."""

from flask import Blueprint, render_template, request
from flask.typing import ResponseReturnValue

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


@blueprint.get("/tasks/<slug>/topics/<topic:topic_id>/nuggets")
@rule(PUBLIC)
def show(slug: str, topic_id: str) -> ResponseReturnValue:
    """The nuggets of a topic by run."""
    page = _page(slug, topic_id)
    html = render_template(
        "answers/nuggets/topic.html", page=page, shapes=OF_NUGGETS, measured=kept(("measure",))
    )
    return http.page(html)


@blueprint.get("/tasks/<slug>/topics/<topic:topic_id>/nuggets.<form:form>")
@rule(PUBLIC)
def export(slug: str, topic_id: str, form: str) -> ResponseReturnValue:
    """The nuggets as a file: one row per nugget, or per nugget and run with ?table=labels."""
    return http.export(form, topic.TOPIC_FILES, _page(slug, topic_id))


def _page(slug: str, topic_id: str) -> NuggetsPage:
    return topic.nuggets_page(reading(), viewer(), slug, topic_id, request.args.get("measure") or None)


@blueprint.get("/tasks/<slug>/lines/<id:line_id>")
@rule(PUBLIC, is_computed=True)
def line(slug: str, line_id: int) -> ResponseReturnValue:
    """The runs under a separate judgment series, and its agreement with the board."""
    page = _line(slug, line_id)
    html = render_template(
        "answers/nuggets/line.html",
        page=page,
        runs=nuggets_line.runs_table(page),
        topics=nuggets_line.topics_table(page),
        coefficients=COEFFICIENTS,
        chart=_ranks(page),
        args=kept(("measure",)),
    )
    return http.page(html)


@blueprint.get("/tasks/<slug>/lines/<id:line_id>.<form:form>")
@rule(PUBLIC, is_computed=True)
def line_export(slug: str, line_id: int, form: str) -> ResponseReturnValue:
    """The series as a file: one row per run, or per topic with ?table=topics."""
    return http.export(form, nuggets_line.LINE_FILES, _line(slug, line_id))


def _line(slug: str, line_id: int) -> LinePage:
    return nuggets_line.line_page(reading(), viewer(), slug, line_id, request.args.get("measure") or None)


def _ranks(page: LinePage) -> ScatterChart | None:
    """Scatter plot of board ranks (x) and series ranks (y)."""
    pairs = [
        Pair(row.name, float(row.board_rank), float(row.rank))
        for row in page.rows
        if row.board_rank is not None and row.rank is not None
    ]
    return scatter_chart(pairs, digits=0) if len(pairs) > 1 else None
