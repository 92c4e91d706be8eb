"""A task's topics: their list and each one's page."""

from flask import Blueprint, render_template
from flask.typing import ResponseReturnValue

from leaderboard.services import topics
from leaderboard.web import tables
from leaderboard.web.rules import PUBLIC, rule
from leaderboard.web.session import reading, viewer

blueprint = Blueprint("topics", __name__)


@blueprint.get("/tasks/<slug>/topics")
@rule(PUBLIC)
def index(slug: str) -> ResponseReturnValue:
    """All topics of a task."""
    page = topics.topic_list(reading(), viewer(), slug)
    return tables.page(render_template("topics/index.html", page=page))


@blueprint.get("/tasks/<slug>/topics.json")
@rule(PUBLIC)
def index_json(slug: str) -> ResponseReturnValue:
    """All topics as JSON."""
    return tables.as_json(topics.list_json(topics.topic_list(reading(), viewer(), slug)))


@blueprint.get("/tasks/<slug>/topics.csv")
@rule(PUBLIC)
def index_csv(slug: str) -> ResponseReturnValue:
    """All topics as CSV."""
    return tables.as_csv(topics.list_table(topics.topic_list(reading(), viewer(), slug)), f"{slug}-topics")


@blueprint.get("/tasks/<slug>/topics/<topic_id>")
@rule(PUBLIC)
def show(slug: str, topic_id: str) -> ResponseReturnValue:
    """One topic: its statement, its judgments, every run's scores."""
    page = topics.topic_page(reading(), viewer(), slug, topic_id)
    return tables.page(render_template("topics/show.html", page=page))


@blueprint.get("/tasks/<slug>/topics/<topic_id>.json")
@rule(PUBLIC)
def show_json(slug: str, topic_id: str) -> ResponseReturnValue:
    """One topic as JSON."""
    return tables.as_json(topics.page_json(topics.topic_page(reading(), viewer(), slug, topic_id)))


@blueprint.get("/tasks/<slug>/topics/<topic_id>.csv")
@rule(PUBLIC)
def show_csv(slug: str, topic_id: str) -> ResponseReturnValue:
    """Every run's scores on one topic as CSV."""
    page = topics.topic_page(reading(), viewer(), slug, topic_id)
    return tables.as_csv(topics.page_table(page), f"{slug}-{topic_id}")
