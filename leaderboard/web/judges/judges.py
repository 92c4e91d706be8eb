"""The judges' board of a task, one judge, and one topic of a judge."""

from flask import Blueprint, render_template, request
from flask.typing import ResponseReturnValue

from leaderboard.pages.judges import board as boards
from leaderboard.pages.judges import judge as judges
from leaderboard.pages.judges import tables
from leaderboard.pages.judges.judge import JudgePage, JudgeTopicPage
from leaderboard.web import responses
from leaderboard.web.addresses import kept
from leaderboard.web.charts import scatter_chart
from leaderboard.web.charts.scatter import Pair, ScatterChart
from leaderboard.web.rules import PUBLIC, rule
from leaderboard.web.session import reading, viewer

blueprint = Blueprint("judges", __name__)


@blueprint.get("/tasks/<slug>/judges")
@rule(PUBLIC)
def board(slug: str) -> ResponseReturnValue:
    """The judges by their agreement with the reference."""
    page = _board(slug)
    html = render_template(
        "judges/board.html",
        page=page,
        table=tables.judges_table(page),
        choices=tables.RANKED_BY,
        args=kept(("by",)),
    )
    return responses.page(html)


@blueprint.get("/tasks/<slug>/judges.<form:form>")
@rule(PUBLIC)
def export(slug: str, form: str) -> ResponseReturnValue:
    """The judges' board as a file."""
    return responses.export(form, tables.BOARD_FILES, _board(slug))


@blueprint.get("/tasks/<slug>/judges/<id:run_id>")
@rule(PUBLIC)
def show(slug: str, run_id: int) -> ResponseReturnValue:
    """One judge: runs, topics, labels, what is circular."""
    page = _judge(slug, run_id)
    html = render_template(
        "judges/judge.html",
        page=page,
        runs=tables.runs_table(page),
        topics=tables.topics_table(page),
        groups=tables.groups_table(page),
        coefficients=tables.COEFFICIENTS,
        chart=_chart(page),
    )
    return responses.page(html)


@blueprint.get("/tasks/<slug>/judges/<id:run_id>.<form:form>")
@rule(PUBLIC)
def show_export(slug: str, run_id: int, form: str) -> ResponseReturnValue:
    """One judge as a file: its runs, or with ?table= its topics or groups of runs."""
    return responses.export(form, tables.JUDGE_FILES, _judge(slug, run_id))


@blueprint.get("/tasks/<slug>/judges/<id:run_id>/topics/<topic:topic_id>")
@rule(PUBLIC)
def topic(slug: str, run_id: int, topic_id: str) -> ResponseReturnValue:
    """One topic by the reference and by a judge."""
    page = _topic(slug, run_id, topic_id)
    return responses.page(render_template("judges/topic.html", page=page, runs=tables.runs_table(page)))


@blueprint.get("/tasks/<slug>/judges/<id:run_id>/topics/<topic:topic_id>.<form:form>")
@rule(PUBLIC)
def topic_export(slug: str, run_id: int, topic_id: str, form: str) -> ResponseReturnValue:
    """One topic of a judge as a file."""
    return responses.export(form, tables.TOPIC_FILES, _topic(slug, run_id, topic_id))


def _board(slug: str) -> boards.JudgesPage:
    return boards.judges_page(reading(), viewer(), slug, request.args.get("by", ""))


def _judge(slug: str, run_id: int) -> JudgePage:
    return judges.judge_page(reading(), viewer(), slug, run_id)


def _topic(slug: str, run_id: int, topic_id: str) -> JudgeTopicPage:
    return judges.judge_topic_page(reading(), viewer(), slug, run_id, topic_id)


def _chart(page: JudgePage) -> ScatterChart | None:
    """Ranks by the reference across, by the judge upwards."""
    if len(page.runs) < 2:
        return None
    pairs = [Pair(row.run, float(row.reference_rank), float(row.judge_rank)) for row in page.runs]
    return scatter_chart(pairs, digits=0)
