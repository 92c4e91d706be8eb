"""Side-by-side comparison pages for assessors, reached by a personal link."""

from typing import Any

from flask import Blueprint, Response, redirect, request, url_for
from flask.typing import ResponseReturnValue

from leaderboard.errors import Conflict, Invalid
from leaderboard.judging.ops import side_by_side
from leaderboard.judging.ops.side_by_side import Questions, SentAnswer
from leaderboard.judging.page import side_by_side as side_by_side_pages
from leaderboard.judging.web.desks import or_again, private
from leaderboard.runs.web.rankings import highlighted
from leaderboard.web.rules import PUBLIC, rule
from leaderboard.web.session import reading, writing

blueprint = Blueprint("side_by_side_judging", __name__)

UNRATED = -1
SATISFIED = {0: "not at all", 1: "a little", 2: "half", 3: "mostly", 4: "fully"}


def _question(token: str, item: str, error: Invalid | Conflict | None = None) -> Response:
    page = side_by_side_pages.question_page(reading(), token, item)
    given = page.given
    chosen = SentAnswer("", "", UNRATED, UNRATED)
    if error is not None:
        chosen = _sent()
    elif given is not None:
        left, right = given.left_satisfaction, given.right_satisfaction
        chosen = SentAnswer("", given.verdict, left, right, given.note)
    return _private(
        "question",
        token,
        page.mine,
        page=page,
        chosen=chosen,
        error=error,
        satisfied=SATISFIED,
        opened=side_by_side_pages.OPENED,
        highlighted=highlighted,
    )


@blueprint.get("/judge/<token>/side-by-side")
@rule(PUBLIC)
def desk(token: str) -> ResponseReturnValue:
    """All comparisons of the assessor."""
    mine = side_by_side.of_link(reading(), token)
    return _private("desk", token, mine, page=mine, table=side_by_side_pages.list_table(mine))


@blueprint.get("/judge/<token>/side-by-side/<item>")
@rule(PUBLIC)
def question(token: str, item: str) -> ResponseReturnValue:
    """Two rankings and the preference form."""
    return _question(token, item)


@blueprint.post("/judge/<token>/side-by-side/<item>")
@rule(PUBLIC)
@or_again(_question)
def answer(token: str, item: str) -> ResponseReturnValue:
    """Store an answer and redirect to the next question."""
    with writing() as session:
        later = side_by_side.save_question(session, token, item, _sent())
    if later is None:
        return redirect(url_for("side_by_side_judging.desk", token=token), 303)
    return redirect(url_for("side_by_side_judging.question", token=token, item=later), 303)


@blueprint.get("/judge/<token>/side-by-side/<item>/<side>/<id:place>")
@rule(PUBLIC)
def text(token: str, item: str, side: str, place: int) -> ResponseReturnValue:
    """The full text of a document."""
    page = side_by_side_pages.text_page(reading(), token, item, side, place)
    return _private("text", token, page.mine, page=page, highlighted=highlighted)


def _rating(name: str) -> int:
    given = request.form.get(name, "")
    return int(given) if len(given) == 1 and given in "0123456789" else UNRATED


def _sent() -> SentAnswer:
    form = request.form
    return SentAnswer(
        key=form.get("key", ""),
        verdict=form.get("verdict", ""),
        left=_rating("left"),
        right=_rating("right"),
        note=form.get("note", "").replace("\r\n", "\n"),
    )


def _private(name: str, token: str, mine: Questions, **facts: Any) -> Response:
    return private(f"judging/side_by_side/{name}.html", token, mine.assessor, mine.task, **facts)
