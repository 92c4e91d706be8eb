"""The nuggets of a topic by runs."""

from flask import Blueprint, render_template, request
from flask.typing import ResponseReturnValue

from leaderboard.pages.nuggets import tables, topic
from leaderboard.pages.nuggets.labels import OF_NUGGETS
from leaderboard.pages.nuggets.topic import NuggetsPage
from leaderboard.web import responses
from leaderboard.web.addresses import kept
from leaderboard.web.rules import PUBLIC, rule
from leaderboard.web.session import reading, viewer

blueprint = Blueprint("nuggets", __name__)


@blueprint.get("/tasks/<slug>/topics/<topic_id>/nuggets")
@rule(PUBLIC)
def show(slug: str, topic_id: str) -> ResponseReturnValue:
    """Which runs hold which nuggets of a topic."""
    page = _page(slug, topic_id)
    html = render_template("nuggets/topic.html", page=page, shapes=OF_NUGGETS, measured=kept(("measure",)))
    return responses.page(html)


@blueprint.get("/tasks/<slug>/topics/<topic_id>/nuggets.<form:form>")
@rule(PUBLIC)
def export(slug: str, topic_id: str, form: str) -> ResponseReturnValue:
    """The same as a file: a row a nugget, or with ?table=labels a row a nugget and run."""
    return responses.export(form, tables.FILES, _page(slug, topic_id))


def _page(slug: str, topic_id: str) -> NuggetsPage:
    return topic.nuggets_page(reading(), viewer(), slug, topic_id, request.args.get("measure") or None)
