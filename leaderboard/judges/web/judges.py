"""The judges' board of a task, one judge, one topic of a judge, and the forms for a reference."""

from flask import Blueprint, request

from leaderboard.errors import LeaderboardError
from leaderboard.judges.ops import imported
from leaderboard.judges.page import board as boards
from leaderboard.judges.page import tables
from leaderboard.judges.page.tables import JudgePage, JudgeTopicPage
from leaderboard.qrels.web import revisions
from leaderboard.scoring.ops.agreements import COEFFICIENTS
from leaderboard.web import actions, http
from leaderboard.web.addresses import kept
from leaderboard.web.charts import scatter_chart
from leaderboard.web.charts.planes import Pair, ScatterChart
from leaderboard.web.rules import PUBLIC, rule
from leaderboard.web.session import reading, viewer

blueprint = Blueprint("judges", __name__)


@http.with_files(
    blueprint,
    "/tasks/<slug>/judges",
    "judges/board.html",
    tables.BOARD_FILES,
    endpoint="export",
    table=tables.judges_table,
    choices=lambda _: tables.RANKED_BY,
    args=lambda _: kept(("by",)),
)
@rule(PUBLIC, carries="edition")
def board(slug: str) -> boards.JudgesPage:
    """The judges ranked by their agreement with the reference."""
    return boards.judges_page(reading(), viewer(), slug, request.args.get("by", ""))


@http.with_files(
    blueprint,
    "/tasks/<slug>/judges/<id:run_id>",
    "judges/judge.html",
    tables.JUDGE_FILES,
    endpoint="show_export",
    runs=tables.runs_table,
    topics=tables.topics_table,
    groups=tables.groups_table,
    coefficients=lambda _: COEFFICIENTS,
    chart=lambda page: _chart(page),
)
@rule(PUBLIC, carries="edition")
def show(slug: str, run_id: int) -> JudgePage:
    """One judge: runs, topics, labels, circularity."""
    return tables.judge_page(reading(), viewer(), slug, run_id)


@http.with_files(
    blueprint,
    "/tasks/<slug>/judges/<id:run_id>/topics/<topic:topic_id>",
    "judges/topic.html",
    tables.TOPIC_FILES,
    runs=tables.runs_table,
)
@rule(PUBLIC, carries="edition")
def topic(slug: str, run_id: int, topic_id: str) -> JudgeTopicPage:
    """One topic by the reference and by a judge."""
    return tables.judge_topic_page(reading(), viewer(), slug, run_id, topic_id)


def _chart(page: JudgePage) -> ScatterChart | None:
    """Points of the scatter plot: ranks by the reference across, by the judge upwards."""
    if len(page.runs) < 2:
        return None
    pairs = [Pair(row.run, float(row.reference_rank), float(row.judge_rank)) for row in page.runs]
    return scatter_chart(pairs, digits=0)


actions.add_to(
    blueprint,
    imported.ACTIONS,
    revisions.list_page,
    then=dict.fromkeys((action.name for action in imported.ACTIONS), revisions.to_draft),
    refusals=(LeaderboardError,),
)
