"""Two rankings beside each other, for assessors, who come by a personal link."""

from typing import Any

from flask import Blueprint, Response, redirect, render_template, request, url_for
from flask.typing import ResponseReturnValue

from leaderboard.errors import Conflict, Invalid
from leaderboard.pages.side_by_side import question as side_by_side_pages
from leaderboard.services.side_by_side import answers
from leaderboard.services.side_by_side.answers import SentAnswer
from leaderboard.web.errors import status_of, wants_json
from leaderboard.web.rankings import highlighted
from leaderboard.web.rules import PUBLIC, rule
from leaderboard.web.session import reading, writing

blueprint = Blueprint("side_by_side_judging", __name__)

SATISFIED = {0: "not at all", 1: "a little", 2: "half", 3: "mostly", 4: "fully"}


@blueprint.get("/judge/<token>/side-by-side")
@rule(PUBLIC)
def desk(token: str) -> ResponseReturnValue:
    """All that the assessor is asked to compare."""
    page = side_by_side_pages.question_list(reading(), token)
    return _private("side_by_side/desk.html", token, page, table=side_by_side_pages.list_table(page))


@blueprint.get("/judge/<token>/side-by-side/<item>")
@rule(PUBLIC)
def question(token: str, item: str) -> ResponseReturnValue:
    """Two rankings and the form to say which is better."""
    return _question(token, item)


@blueprint.post("/judge/<token>/side-by-side/<item>")
@rule(PUBLIC)
def answer(token: str, item: str) -> ResponseReturnValue:
    """Store an answer and go on with the next question."""
    form = request.form
    sent = SentAnswer(
        key=form.get("key", ""),
        verdict=form.get("verdict", ""),
        left=_rating("left"),
        right=_rating("right"),
        note=form.get("note", "").replace("\r\n", "\n"),
    )
    try:
        with writing() as session:
            later = answers.save(session, token, item, sent)
    except (Invalid, Conflict) as error:
        if wants_json():
            raise
        return _question(token, item, sent=sent, error=error), status_of(error)
    if later is None:
        return redirect(url_for("side_by_side_judging.desk", token=token), 303)
    return redirect(url_for("side_by_side_judging.question", token=token, item=later), 303)


@blueprint.get("/judge/<token>/side-by-side/<item>/<side>/<id:place>")
@rule(PUBLIC)
def text(token: str, item: str, side: str, place: int) -> ResponseReturnValue:
    """The whole text of a document."""
    page = side_by_side_pages.text_page(reading(), token, item, side, place)
    return _private("side_by_side/text.html", token, page, highlighted=highlighted)


def _question(
    token: str, item: str, sent: SentAnswer | None = None, error: Invalid | Conflict | None = None
) -> Response:
    page = side_by_side_pages.question_page(reading(), token, item)
    given = page.given
    if sent is None and given is not None:
        sent = SentAnswer(
            key="",
            verdict=given.verdict,
            left=given.left_satisfaction,
            right=given.right_satisfaction,
            note=given.note,
        )
    return _private(
        "side_by_side/question.html",
        token,
        page,
        chosen=sent or SentAnswer("", "", None, None),
        error=error,
        satisfied=SATISFIED,
        opened=side_by_side_pages.OPENED,
        highlighted=highlighted,
    )


def _rating(name: str) -> int | None:
    given = request.form.get(name, "")
    return int(given) if len(given) == 1 and given in "0123456789" else None


def _private(template: str, token: str, page: Any, **facts: Any) -> Response:
    """A page that only the assessor sees, and no cache keeps."""
    html = render_template(
        template, token=token, assessor_id=page.assessor_id, task=page.task, page=page, **facts
    )
    response = Response(html, mimetype="text/html")
    response.headers["Cache-Control"] = "no-store"
    return response
