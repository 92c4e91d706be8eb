"""An operator's page of accounts: list, reopen, close, make organisers, invite."""

from flask import Blueprint, redirect, render_template, request, url_for
from flask.typing import ResponseReturnValue

from leaderboard import fields
from leaderboard.accounts.ops import accounts, closing, invitations
from leaderboard.accounts.ops.invitations import TaskInvitation
from leaderboard.accounts.page import invitations as invited
from leaderboard.accounts.web.invitations import link_of
from leaderboard.errors import LeaderboardError
from leaderboard.site import page as pages
from leaderboard.site.page import AccountList
from leaderboard.tasks.ops import reset_links
from leaderboard.web import actions, http
from leaderboard.web.rules import OPERATOR, rule
from leaderboard.web.session import reading, viewer, writing

blueprint = Blueprint("site_accounts", __name__)

LONGEST_QUERY = 100


@blueprint.post("/site/accounts/<id:account_id>/link")
@rule(OPERATOR)
def link(account_id: int) -> ResponseReturnValue:
    """Make a one-time sign-in link for an account and show it, this once."""
    asker = viewer()
    with writing() as session:
        token = reset_links.make_link(session, asker, account_id)
    return _page(link=url_for("accounts.link", token=token, _external=True)), 201


@blueprint.post("/site/accounts/<id:account_id>/organiser")
@rule(OPERATOR)
def organiser(account_id: int) -> ResponseReturnValue:
    """Let an account create tasks, or stop it: by the field `organiser`."""
    asker, is_organiser = viewer(), request.form.get("organiser") == "yes"
    with writing() as session:
        closing.set_organiser(session, asker, account_id, is_organiser)
    return _back()


def _back(*_: object, **__: object) -> ResponseReturnValue:
    return redirect(url_for("site_accounts.index", q=_query() or None), 303)


def _query() -> str:
    return request.values.get("q", "").strip()[:LONGEST_QUERY]


def _page(error: LeaderboardError | None = None, invitation: str = "", link: str = "") -> str:
    return _html(index(), error, invitation, link)


def _html(
    page: AccountList, error: LeaderboardError | None = None, invitation: str = "", link: str = ""
) -> str:
    return render_template(
        "site/accounts.html",
        page=page,
        table=pages.accounts_table(page),
        invitations=invited.table(page.invitations),
        invite={**actions.form(TaskInvitation, error), "asked": fields.of(TaskInvitation)[:3]},
        hours=accounts.LINK_HOURS,
        error=error,
        invitation=invitation,
        link=link,
    )


@http.with_files(blueprint, "/site/accounts", _html, pages.ACCOUNTS_FILES, endpoint="export", is_kept=False)
@rule(OPERATOR)
def index() -> AccountList:
    """All accounts, or those that ?q= finds."""
    return pages.account_list(reading(), viewer(), _query())


ACTS = (closing.CLOSE, closing.REOPEN, closing.SIGN_OUT)
actions.add_to(blueprint, ACTS, then={act.name: _back for act in ACTS}, who=OPERATOR)
actions.add_to(
    blueprint,
    [invitations.TO_SITE],
    _page,
    then={"invite": lambda secret: (_page(invitation=link_of(secret)), 201)},
    who=OPERATOR,
)
