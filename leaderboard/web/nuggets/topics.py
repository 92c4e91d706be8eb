"""The nuggets of a topic by runs, and boards by other lines of judgments."""

from flask import Blueprint, render_template, request
from flask.typing import ResponseReturnValue

from leaderboard.pages.judges.tables import COEFFICIENTS
from leaderboard.pages.nuggets import line as nuggets_line
from leaderboard.pages.nuggets import topic
from leaderboard.pages.nuggets.line import LinePage
from leaderboard.pages.nuggets.topic import OF_NUGGETS, NuggetsPage
from leaderboard.web import responses
from leaderboard.web.addresses import kept
from leaderboard.web.charts import scatter_chart
from leaderboard.web.charts.planes import Pair, ScatterChart
from leaderboard.web.rules import PUBLIC, rule
from leaderboard.web.session import reading, viewer

blueprint = Blueprint("nuggets", __name__)


@blueprint.get("/tasks/<slug>/topics/<topic:topic_id>/nuggets")
@rule(PUBLIC)
def show(slug: str, topic_id: str) -> ResponseReturnValue:
    """Which runs hold which nuggets of a topic."""
    page = _page(slug, topic_id)
    html = render_template("nuggets/topic.html", page=page, shapes=OF_NUGGETS, measured=kept(("measure",)))
    return responses.page(html)


@blueprint.get("/tasks/<slug>/topics/<topic:topic_id>/nuggets.<form:form>")
@rule(PUBLIC)
def export(slug: str, topic_id: str, form: str) -> ResponseReturnValue:
    """The same as a file: a row a nugget, or with ?table=labels a row a nugget and run."""
    return responses.export(form, topic.TOPIC_FILES, _page(slug, topic_id))


def _page(slug: str, topic_id: str) -> NuggetsPage:
    return topic.nuggets_page(reading(), viewer(), slug, topic_id, request.args.get("measure") or None)


@blueprint.get("/tasks/<slug>/lines/<id:line_id>")
@rule(PUBLIC, is_computed=True)
def line(slug: str, line_id: int) -> ResponseReturnValue:
    """The runs by another line of judgments than the board's, and how far both agree."""
    page = _line(slug, line_id)
    html = render_template(
        "nuggets/line.html",
        page=page,
        runs=nuggets_line.runs_table(page),
        topics=nuggets_line.topics_table(page),
        coefficients=COEFFICIENTS,
        chart=_ranks(page),
        args=kept(("measure",)),
    )
    return responses.page(html)


@blueprint.get("/tasks/<slug>/lines/<id:line_id>.<form:form>")
@rule(PUBLIC, is_computed=True)
def line_export(slug: str, line_id: int, form: str) -> ResponseReturnValue:
    """The same as a file: a row a run, or with ?table=topics a row a topic."""
    return responses.export(form, nuggets_line.LINE_FILES, _line(slug, line_id))


def _line(slug: str, line_id: int) -> LinePage:
    return nuggets_line.line_page(reading(), viewer(), slug, line_id, request.args.get("measure") or None)


def _ranks(page: LinePage) -> ScatterChart | None:
    """Ranks on the board across, by the line upwards."""
    pairs = [
        Pair(row.name, float(row.board_rank), float(row.rank))
        for row in page.rows
        if row.board_rank is not None and row.rank is not None
    ]
    return scatter_chart(pairs, digits=0) if len(pairs) > 1 else None
