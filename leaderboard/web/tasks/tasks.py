"""The front page and what a task is about."""

from flask import Blueprint, render_template
from flask.typing import ResponseReturnValue

from leaderboard.pages.tasks import landing, settings
from leaderboard.web import responses
from leaderboard.web.rules import PUBLIC, rule
from leaderboard.web.session import reading, viewer

blueprint = Blueprint("tasks", __name__)


@blueprint.get("/")
@rule(PUBLIC)
def index() -> ResponseReturnValue:
    """All tasks, each with its leader."""
    rows = landing.landing(reading(), viewer())
    archived = [row for row in rows if row.task.archived_at is not None]
    return responses.page(render_template("tasks/index.html", table=landing.table(rows), archived=archived))


@blueprint.get("/tasks.<form:form>")
@rule(PUBLIC)
def export(form: str) -> ResponseReturnValue:
    """All tasks as a file."""
    return responses.export(form, landing.FILES, landing.landing(reading(), viewer()))


@blueprint.get("/tasks/<slug>/about")
@rule(PUBLIC)
def about(slug: str) -> ResponseReturnValue:
    """A task's description and rules."""
    page = landing.about(reading(), viewer(), slug)
    html = render_template(
        "tasks/about.html",
        page=page,
        measures=landing.measures(page),
        changes=settings.changes_table(slug, page.changes),
    )
    return responses.page(html)
