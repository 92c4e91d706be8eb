"""Routes of the answers of runs."""

from flask import Blueprint, render_template, request
from flask.typing import ResponseReturnValue

from leaderboard.answers.page import answers
from leaderboard.web import http
from leaderboard.web.rules import PUBLIC, rule
from leaderboard.web.session import reading, viewer

blueprint = Blueprint("answers", __name__)


@blueprint.get("/runs/<id:run_id>/answers/<topic:topic_id>")
@rule(PUBLIC)
def show(run_id: int, topic_id: str) -> ResponseReturnValue:
    """The answer of a run on one topic, with a cited document by ?docno=."""
    page = answers.answer_page(reading(), viewer(), run_id, topic_id, request.args.get("docno"))
    return http.page(render_template("answers/answer.html", page=page))


@blueprint.get("/runs/<id:run_id>/answers/<topic:topic_id>.<form:form>")
@rule(PUBLIC)
def export(run_id: int, topic_id: str, form: str) -> ResponseReturnValue:
    """The answer as a file."""
    page = answers.answer_page(reading(), viewer(), run_id, topic_id)
    return http.export(form, answers.ANSWER_FILES, page)
