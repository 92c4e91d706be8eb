"""Invitation links: opened by anybody, used by an account, one that is there or one that the link makes."""

from flask import Blueprint, redirect, render_template, request, url_for
from flask.typing import ResponseReturnValue
from sqlalchemy.orm import Session

from leaderboard.errors import Forbidden, LeaderboardError
from leaderboard.services.accounts import invitations, passwords
from leaderboard.services.accounts.invitations import Invitation
from leaderboard.settings import CLOSED
from leaderboard.web import actions
from leaderboard.web.accounts.newcomers import make_account
from leaderboard.web.errors import refused
from leaderboard.web.rules import PUBLIC, rule
from leaderboard.web.session import (
    client_ip,
    reading,
    require_safe_sign_in,
    settings,
    viewer,
    welcome,
    writing,
)

blueprint = Blueprint("invitations", __name__)


@blueprint.get("/join/<token>")
@rule(PUBLIC)
def show(token: str) -> ResponseReturnValue:
    """Who invites to what and why; only the page's button uses the link up."""
    return _page(invitations.look_at(reading(), token), token)


@blueprint.post("/join/<token>")
@rule(PUBLIC)
def join(token: str) -> ResponseReturnValue:
    """Let in the account that is signed in, else one that is made of the name and password that were sent."""
    asker = viewer()
    if asker.account_id is None:
        return _join_as_new(token)
    with writing() as session:
        found = invitations.redeem(session, asker, token)
    return redirect(_target(found), 303)


def _join_as_new(token: str) -> ResponseReturnValue:
    require_safe_sign_in()
    found = invitations.look_at(reading(), token)
    if settings().sign_up == CLOSED:
        raise Forbidden("This site takes no new accounts; sign in with yours, or ask the operator.")
    name, password, ip = request.form.get("name", ""), request.form.get("password", ""), client_ip()

    def admit(session: Session, account_id: int) -> None:
        invitations.redeem_as_new(session, account_id, name, ip, token)

    try:
        made = make_account(name, password, admit)
    except LeaderboardError as error:
        return refused(lambda error: _page(found, token, error, name), error)
    return welcome(redirect(_target(found), 303), made)


actions.add_to(blueprint, (invitations.REVOKE,))


def link_of(secret: str) -> str:
    """The address of a new invitation; it can be read only now."""
    return url_for("invitations.show", token=secret, _external=True)


def _target(found: Invitation) -> str:
    """Where the link leads whom it let in."""
    if found.team_id is not None:
        return url_for("teams.show", team_id=found.team_id)
    if found.task_id is None:
        return url_for("tasks.index")
    endpoint = "organise.show" if found.role == "organiser" else "boards.board"
    return url_for(endpoint, slug=found.slug)


def _page(found: Invitation, token: str, error: LeaderboardError | None = None, name: str = "") -> str:
    return render_template(
        "accounts/join.html",
        invitation=found,
        token=token,
        error=error,
        name=name,
        takes_accounts=settings().sign_up != CLOSED,
        shortest=passwords.MIN_CHARACTERS,
    )
