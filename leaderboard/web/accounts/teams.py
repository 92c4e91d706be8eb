"""The viewer's teams: making them, inviting, leaving."""

from flask import Blueprint, redirect, render_template, request, url_for
from flask.typing import ResponseReturnValue

from leaderboard.errors import Invalid, LeaderboardError
from leaderboard.pages import accounts as pages
from leaderboard.pages import invitations as listed
from leaderboard.services.accounts import invitations, teams
from leaderboard.web.accounts.invitations import invited
from leaderboard.web.errors import form_again, wants_json
from leaderboard.web.rules import SIGNED_IN, rule
from leaderboard.web.security import local_path
from leaderboard.web.session import reading, viewer, writing

blueprint = Blueprint("teams", __name__)


@blueprint.get("/teams")
@rule(SIGNED_IN)
def index() -> ResponseReturnValue:
    """The viewer's teams and the form that makes one."""
    return _index_page()


def _index_page(error: LeaderboardError | None = None, name: str = "") -> str:
    table = pages.teams_table(pages.own_teams(reading(), viewer()))
    target = local_path(request.values.get("next", ""), "")
    return render_template("accounts/teams.html", table=table, error=error, name=name, next=target)


@blueprint.post("/teams")
@rule(SIGNED_IN)
def create() -> ResponseReturnValue:
    """Make a team whose captain is the viewer."""
    asker, name = viewer(), request.form.get("name", "")
    try:
        with writing() as session:
            teams.count_creation(session, asker, name)
        with writing() as session:
            team_id = teams.create(session, asker, name)
    except LeaderboardError as error:
        if wants_json():
            raise
        return form_again(_index_page(error, name), error)
    return redirect(local_path(request.form.get("next", ""), url_for("teams.show", team_id=team_id)), 303)


@blueprint.get("/teams/<id:team_id>")
@rule(SIGNED_IN)
def show(team_id: int) -> ResponseReturnValue:
    """One of the viewer's teams with its members."""
    return _team_page(team_id)


def _team_page(team_id: int, invitation: str = "", error: LeaderboardError | None = None) -> str:
    page = pages.team_page(reading(), viewer(), team_id)
    links = listed.invitation_rows(reading(), invitations.TEAM, team_id=team_id)
    return render_template(
        "accounts/team.html",
        page=page,
        members=pages.members_table(page),
        invitation=invitation,
        invitations=listed.table(links),
        error=error,
    )


@blueprint.post("/teams/<id:team_id>/invitations")
@rule(SIGNED_IN)
def invite(team_id: int) -> ResponseReturnValue:
    """Make an invitation and show its link, this once."""
    try:
        link = invited(kind=invitations.TEAM, team_id=team_id)
    except Invalid as error:
        if wants_json():
            raise
        return form_again(_team_page(team_id, error=error), error)
    return _team_page(team_id, link), 201


@blueprint.post("/teams/<id:team_id>/leave")
@rule(SIGNED_IN)
def leave(team_id: int) -> ResponseReturnValue:
    """Take the viewer out of the team."""
    asker = viewer()
    with writing() as session:
        teams.leave(session, asker, team_id)
    return redirect(url_for("teams.index"), 303)


@blueprint.post("/teams/<id:team_id>/members/<id:account_id>/remove")
@rule(SIGNED_IN)
def remove(team_id: int, account_id: int) -> ResponseReturnValue:
    """Take another member out of the team."""
    asker = viewer()
    with writing() as session:
        teams.remove(session, asker, team_id, account_id)
    return redirect(url_for("teams.show", team_id=team_id), 303)
