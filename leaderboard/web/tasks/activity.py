"""What goes on in a task, for its organisers."""

from flask import Blueprint, render_template
from flask.typing import ResponseReturnValue

from leaderboard.pages.tasks import activity as pages
from leaderboard.web import responses
from leaderboard.web.charts import bar_chart
from leaderboard.web.rules import SIGNED_IN, rule
from leaderboard.web.session import reading, viewer

blueprint = Blueprint("activity", __name__)


@blueprint.get("/tasks/<slug>/activity")
@rule(SIGNED_IN)
def show(slug: str) -> ResponseReturnValue:
    """Runs a day, rejected files by rule and team, teams without a run, and the queue."""
    page = pages.activity(reading(), viewer(), slug)
    labels = [f"{row.day}: {row.accepted}" for row in page.days]
    html = render_template(
        "tasks/activity.html",
        page=page,
        chart=bar_chart([float(row.accepted) for row in page.days], labels),
        tables=responses.tables(pages.FILES, page),
    )
    return responses.page(html)


@blueprint.get("/tasks/<slug>/activity.<form:form>")
@rule(SIGNED_IN)
def export(slug: str, form: str) -> ResponseReturnValue:
    """The same as a file."""
    return responses.export(form, pages.FILES, pages.activity(reading(), viewer(), slug))
