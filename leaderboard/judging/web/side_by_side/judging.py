"""Side-by-side comparison pages for assessors, reached by a personal link."""

from typing import Any

from flask import Blueprint, redirect, render_template, url_for
from flask.typing import ResponseReturnValue

from leaderboard import fields
from leaderboard.errors import LeaderboardError
from leaderboard.judging.ops import side_by_side
from leaderboard.judging.ops.side_by_side import Questions, SentAnswer
from leaderboard.judging.page import side_by_side as side_by_side_pages
from leaderboard.judging.web.desks import unkept
from leaderboard.runs.web.rankings import highlighted
from leaderboard.web import actions
from leaderboard.web.rules import PUBLIC, rule
from leaderboard.web.session import reading

blueprint = Blueprint("side_by_side_judging", __name__)

SATISFIED = {0: "not at all", 1: "a little", 2: "half", 3: "mostly", 4: "fully"}


# Each page is for one assessor alone.
blueprint.after_request(unkept)


def _question(token: str, item: str, error: LeaderboardError | None = None) -> str:
    page = side_by_side_pages.question_page(reading(), token, item)
    given, chosen = page.given, fields.empty(SentAnswer)
    if error is not None:
        chosen = chosen | actions.sent(SentAnswer)
    elif given is not None:
        chosen = {
            "verdict": given.verdict,
            "left": given.left_satisfaction,
            "right": given.right_satisfaction,
            "note": given.note,
        }
    return _html(
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
    return _html("desk", token, mine, page=mine, table=side_by_side_pages.list_table(mine))


@blueprint.get("/judge/<token>/side-by-side/<item>")
@rule(PUBLIC)
def question(token: str, item: str) -> ResponseReturnValue:
    """Two rankings and the preference form."""
    return _question(token, item)


def _answered(later: str | None, token: str, item: str) -> ResponseReturnValue:
    """The next question, or the list where none is left."""
    if later is None:
        return redirect(url_for("side_by_side_judging.desk", token=token), 303)
    return redirect(url_for("side_by_side_judging.question", token=token, item=later), 303)


actions.add_to(blueprint, (side_by_side.ANSWER,), _question, then={"answer_comparison": _answered})


@blueprint.get("/judge/<token>/side-by-side/<item>/<side>/<id:place>")
@rule(PUBLIC)
def text(token: str, item: str, side: str, place: int) -> ResponseReturnValue:
    """The full text of a document."""
    page = side_by_side_pages.text_page(reading(), token, item, side, place)
    return _html("text", token, page.mine, page=page, highlighted=highlighted)


def _html(name: str, token: str, mine: Questions, **facts: Any) -> str:
    facts |= {"token": token, "assessor_id": mine.assessor.id, "task": mine.task.name}
    return render_template(f"judging/side_by_side/{name}.html", **facts)
