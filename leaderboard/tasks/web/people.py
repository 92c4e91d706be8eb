"""The accounts with a role in a task: organisers, coordinators of assessors, readers of everything."""

from flask import Blueprint, redirect, render_template, url_for
from flask.typing import ResponseReturnValue

from leaderboard.accounts.ops import invitations
from leaderboard.accounts.ops.invitations import TaskInvitation
from leaderboard.accounts.page import invitations as invited
from leaderboard.accounts.web.invitations import link_of
from leaderboard.errors import LeaderboardError
from leaderboard.tasks.ops import roles
from leaderboard.tasks.ops.roles import RoleBody
from leaderboard.tasks.page import settings as pages
from leaderboard.web import actions
from leaderboard.web.rules import SIGNED_IN, rule
from leaderboard.web.session import reading, viewer

blueprint = Blueprint("people", __name__)


@blueprint.get("/tasks/<slug>/people")
@rule(SIGNED_IN)
def show(slug: str) -> ResponseReturnValue:
    """Accounts with their roles, and the forms to change them."""
    return _page(slug)


def _page(slug: str, error: LeaderboardError | None = None, link: str = "", **_: object) -> str:
    page = pages.people(reading(), viewer(), slug)
    return render_template(
        "tasks/people.html",
        page=page,
        table=pages.people_table(page),
        invitations=invited.table(page.invitations),
        invite=actions.form(TaskInvitation, error),
        link=link,
        error=error,
        give=actions.form(RoleBody, error),
    )


def _removed(_: None, slug: str, account_id: int) -> ResponseReturnValue:
    """The page of people, which an organiser who left can no longer see."""
    if account_id == viewer().account_id:
        return redirect(url_for("tasks.index"), 303)
    return redirect(url_for("people.show", slug=slug), 303)


actions.add_to(
    blueprint,
    (roles.GIVE, roles.REMOVE, invitations.TO_TASK),
    _page,
    then={
        "invite_to_task": lambda secret, slug: (_page(slug, link=link_of(secret)), 201),
        "remove_role": _removed,
    },
    refusals=(LeaderboardError,),
)
