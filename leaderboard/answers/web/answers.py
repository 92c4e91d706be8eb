"""Routes of the answers of runs."""

from flask import Blueprint, request

from leaderboard.answers.page import answers
from leaderboard.answers.page.answers import AnswerPage
from leaderboard.web import http
from leaderboard.web.rules import PUBLIC, rule
from leaderboard.web.session import reading, viewer

blueprint = Blueprint("answers", __name__)


@http.with_files(
    blueprint, "/runs/<id:run_id>/answers/<topic:topic_id>", "answers/answer.html", answers.ANSWER_FILES
)
@rule(PUBLIC, carries="edition")
def show(run_id: int, topic_id: str) -> AnswerPage:
    """The answer of a run on one topic, with a cited document by ?docno=."""
    return answers.answer_page(reading(), viewer(), run_id, topic_id, request.args.get("docno"))
