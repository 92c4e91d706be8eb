"""The front page and what a task is about."""

from flask import Blueprint, render_template
from flask.typing import ResponseReturnValue

from leaderboard.pages import prints
from leaderboard.pages.tasks import landing
from leaderboard.web import responses
from leaderboard.web.rules import PUBLIC, rule
from leaderboard.web.session import reading, viewer

blueprint = Blueprint("tasks", __name__)


@blueprint.get("/")
@rule(PUBLIC)
def index() -> ResponseReturnValue:
    """All tasks, each with its leader."""
    rows = landing.landing(reading(), viewer())
    return responses.page(render_template("tasks/index.html", rows=rows))


@blueprint.get("/tasks.json")
@rule(PUBLIC)
def index_json() -> ResponseReturnValue:
    """All tasks as JSON."""
    return responses.as_json(landing.as_json(landing.landing(reading(), viewer())))


@blueprint.get("/tasks.csv")
@rule(PUBLIC)
def index_csv() -> ResponseReturnValue:
    """All tasks as CSV."""
    return responses.as_csv(landing.table(landing.landing(reading(), viewer())), "tasks")


@blueprint.get("/tasks.tex")
@rule(PUBLIC)
def index_tex() -> ResponseReturnValue:
    """All tasks as LaTeX."""
    return responses.as_printed(prints.of_tasks(landing.landing(reading(), viewer())), "tasks")


@blueprint.get("/tasks/<slug>/about")
@rule(PUBLIC)
def about(slug: str) -> ResponseReturnValue:
    """A task's description and rules."""
    page = landing.about(reading(), viewer(), slug)
    return responses.page(render_template("tasks/about.html", page=page))
