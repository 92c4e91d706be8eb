"""The members of the teams in a task, and sign-in links for lost passwords."""

from flask import Blueprint, render_template, url_for
from flask.typing import ResponseReturnValue

from leaderboard.accounts.ops import accounts
from leaderboard.errors import Forbidden
from leaderboard.tasks.ops import reset_links
from leaderboard.tasks.page import members as pages
from leaderboard.tasks.page.members import MemberList
from leaderboard.web import http
from leaderboard.web.errors import form_again, wants_json
from leaderboard.web.rules import SIGNED_IN, rule
from leaderboard.web.session import reading, viewer, writing

blueprint = Blueprint("members", __name__)


def _html(page: MemberList, link: str = "", error: Forbidden | None = None) -> str:
    table, hours = pages.table(page), accounts.LINK_HOURS
    return render_template("tasks/members.html", page=page, table=table, link=link, error=error, hours=hours)


@http.with_files(blueprint, "/tasks/<slug>/members", _html, pages.FILES, endpoint="export", is_kept=False)
@rule(SIGNED_IN)
def index(slug: str) -> MemberList:
    """The members of the task's teams, for its organisers."""
    return pages.member_list(reading(), viewer(), slug)


@blueprint.post("/tasks/<slug>/members/<id:account_id>/link")
@rule(SIGNED_IN)
def link(slug: str, account_id: int) -> ResponseReturnValue:
    """Make a one-time sign-in link for a plain participant and show it, this once."""
    asker = viewer()
    try:
        with writing() as session:
            token = reset_links.make_link_in_task(session, asker, slug, account_id)
    except Forbidden as error:
        if wants_json() or error.message != reset_links.REFUSED:
            raise
        return form_again(_html(index(slug), error=error), error)
    return _html(index(slug), url_for("accounts.link", token=token, _external=True)), 201
