"""Activity in a task, for its organisers."""

from flask import Blueprint, render_template

from leaderboard.tasks.page import activity as pages
from leaderboard.tasks.page.activity import ActivityPage
from leaderboard.web import http
from leaderboard.web.charts import bar_chart
from leaderboard.web.rules import SIGNED_IN, rule
from leaderboard.web.session import reading, viewer

blueprint = Blueprint("activity", __name__)


def _show_html(page: ActivityPage) -> str:
    labels = [f"{row.day}: {row.accepted}" for row in page.days]
    return render_template(
        "tasks/activity.html",
        page=page,
        chart=bar_chart([float(row.accepted) for row in page.days], labels),
        tables=http.tables(pages.FILES, page),
    )


@http.with_files(blueprint, "/tasks/<slug>/activity", _show_html, pages.FILES)
@rule(SIGNED_IN)
def show(slug: str) -> ActivityPage:
    """Runs a day, rejected files by rule and team, teams without a run, and the queue."""
    return pages.activity(reading(), viewer(), slug)
