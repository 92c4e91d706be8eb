"""Invitation links: anyone can open them; an existing or new account accepts them."""

from flask import Blueprint, redirect, render_template, request, url_for
from flask.typing import ResponseReturnValue
from sqlalchemy.orm import Session

from leaderboard.accounts.ops import invitations, names, teams
from leaderboard.accounts.ops.accounts import NewAccount
from leaderboard.accounts.ops.invitations import Invitation
from leaderboard.accounts.web.accounts import found_first_team, found_team, make_account, new_account
from leaderboard.core.policy import ANONYMOUS, Viewer
from leaderboard.errors import Forbidden, Invalid, LeaderboardError
from leaderboard.settings import CLOSED
from leaderboard.web import actions
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
    """The invitation page; only its button counts a use."""
    return _page(invitations.look_at(reading(), token), token)


@blueprint.post("/join/<token>")
@rule(PUBLIC)
@actions.takes(NewAccount)
def join(token: str) -> ResponseReturnValue:
    """Admit the signed-in account, otherwise a new one with the submitted name and password."""
    asker = viewer()
    if asker.account_id is None:
        return _join_as_new(token)
    invitation = invitations.look_at(reading(), token)
    try:
        team = _team_for(invitation, asker)
        with writing() as session:
            invitations.redeem(session, asker, token)
            if team:
                found_team(session, asker, team)
    except LeaderboardError as error:
        if not isinstance(error, Invalid) and error.facts.get("field") != "team":
            raise
        return refused(lambda error: _page(invitation, token, error), error)
    return redirect(_target(invitation), 303)


def _team_for(invitation: Invitation, asker: Viewer) -> str:
    """The name of the team to make for an account that takes part without one, counted; else empty."""
    if not _needs_team(invitation, asker):
        return ""
    team = names.displayed(request.form.get("team", "").strip() or asker.name, "a team", "team")
    with writing() as session:
        teams.count_creation(session, asker, team)
    return team


def _join_as_new(token: str) -> ResponseReturnValue:
    require_safe_sign_in()
    invitation = invitations.look_at(reading(), token)
    if settings().sign_up == CLOSED:
        raise Forbidden(
            "Registration is closed on this site. Sign in with an existing account, or ask the "
            "operator for one."
        )
    ip = client_ip()
    try:
        asked = new_account()

        def admit(session: Session, account_id: int) -> None:
            invitations.redeem_as_new(session, account_id, asked.name, ip, token)
            if _needs_team(invitation, ANONYMOUS):
                found_first_team(session, account_id, asked.name, asked.team or asked.name)

        new_session = make_account(asked.name, asked.password, admit)
    except LeaderboardError as error:
        return refused(lambda error: _page(invitation, token, error), error)
    return welcome(redirect(_target(invitation), 303), new_session)


def _needs_team(invitation: Invitation, asker: Viewer) -> bool:
    """Whether it invites to take part, which takes a team, and the account is in none."""
    return invitation.kind == invitations.TASK and not invitation.role and not asker.team_ids


actions.add_to(blueprint, (invitations.REVOKE,))


def link_of(secret: str) -> str:
    """The address of a new invitation; it can be read only now."""
    return url_for("invitations.show", token=secret, _external=True)


def _target(invitation: Invitation) -> str:
    """The address to go to after joining."""
    if invitation.team_id is not None:
        return url_for("teams.show", team_id=invitation.team_id)
    if invitation.task_id is None:
        return url_for("tasks.index")
    endpoints = {"organiser": "organise.show", "": "uploads.form"}
    return url_for(endpoints.get(invitation.role, "boards.board"), slug=invitation.slug)


def _page(invitation: Invitation, token: str, error: LeaderboardError | None = None) -> str:
    return render_template(
        "accounts/join.html",
        invitation=invitation,
        token=token,
        error=error,
        form=actions.form(NewAccount, error),
        needs_team=_needs_team(invitation, viewer()),
        takes_accounts=settings().sign_up != CLOSED,
    )
