"""Groups of teams and families of runs, as an organiser declares them."""

from flask import Blueprint, render_template
from flask.typing import ResponseReturnValue

from leaderboard.boards.ops import board
from leaderboard.boards.ops.board import GroupBody
from leaderboard.errors import LeaderboardError
from leaderboard.tasks.page import members as pages
from leaderboard.web import actions
from leaderboard.web.rules import SIGNED_IN, rule
from leaderboard.web.session import reading, viewer

blueprint = Blueprint("groups", __name__)


@blueprint.get("/tasks/<slug>/groups")
@rule(SIGNED_IN)
def show(slug: str) -> ResponseReturnValue:
    """The groups of a task and the form that declares one; for organisers."""
    return _page(slug)


def _page(slug: str, error: LeaderboardError | None = None, **_: object) -> str:
    page = pages.groups_page(reading(), viewer(), slug)
    form = actions.form(GroupBody, error)
    return render_template(
        "tasks/groups.html", page=page, table=pages.groups_table(page), error=error, form=form
    )


actions.add_to(blueprint, board.ACTIONS, _page)
