"""Teams: making them, their pages, inviting, joining, leaving, merging."""

from collections.abc import Callable
from functools import cache

from flask import Blueprint, redirect, render_template, request, url_for
from flask.typing import ResponseReturnValue
from markupsafe import Markup, escape
from sqlalchemy.orm import Session

from leaderboard.errors import Conflict, Invalid, LeaderboardError, OverQuota
from leaderboard.pages import accounts as pages
from leaderboard.pages import invitations as listed
from leaderboard.pages import teams as team_pages
from leaderboard.pages.teams import TeamPage
from leaderboard.services.accounts import invitations, teams
from leaderboard.services.accounts.teams import TeamDetails
from leaderboard.services.tasks import filed
from leaderboard.web import responses
from leaderboard.web.accounts.invitations import invited
from leaderboard.web.addresses import addresses_by_id
from leaderboard.web.errors import form_again, wants_json
from leaderboard.web.filters import CellMacro, utc
from leaderboard.web.rules import PUBLIC, SIGNED_IN, rule
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
@rule(PUBLIC)
def show(team_id: int) -> ResponseReturnValue:
    """A team with its runs, and for its members what they can change."""
    page = team_pages.team_page(reading(), viewer(), team_id)
    if page.id != team_id:
        return redirect(url_for("teams.show", team_id=page.id), 303)
    return responses.page(_html(page))


def _team_page(team_id: int, error: LeaderboardError | None = None, *, invitation: str = "") -> str:
    return _html(team_pages.team_page(reading(), viewer(), team_id), error, invitation=invitation)


def _html(page: TeamPage, error: LeaderboardError | None = None, *, invitation: str = "") -> str:
    links = listed.invitation_rows(reading(), invitations.TEAM, team_id=page.id) if page.is_member else ()
    return render_template(
        "accounts/team.html",
        page=page,
        members=team_pages.members_table(page),
        runs=team_pages.runs_table(page),
        run_cells=_run_cells(),
        invitation=invitation,
        invitations=listed.table(links),
        error=error,
        sent=request.form,
    )


def _run_cells() -> dict[str, CellMacro]:
    """How the cells of a team's runs are written: macros of a thousand runs take twice as long."""
    run_address = addresses_by_id("runs.show", "run_id")

    @cache
    def task(slug: str, name: str) -> Markup:
        return Markup('<a href="{}">{}</a>').format(url_for("boards.board", slug=slug), name)

    return {
        "task": lambda row, _: task(row.slug, row.task),
        "run": lambda row, _: Markup(f'<a href="{escape(run_address(row.run_id))}">{escape(row.name)}</a>'),
        "sent": lambda row, _: utc(row.created_at),
    }


def _changed(team_id: int, *acts: Callable[[Session], object]) -> ResponseReturnValue:
    """Do acts, each in a transaction of its own, and show the team, with the error where there is one."""
    try:
        for act in acts:
            with writing() as session:
                act(session)
    except (Invalid, Conflict, OverQuota) as error:
        if wants_json():
            raise
        return form_again(_team_page(team_id, error), error)
    return redirect(url_for("teams.show", team_id=team_id), 303)


@blueprint.post("/teams/<id:team_id>/details")
@rule(SIGNED_IN)
def describe(team_id: int) -> ResponseReturnValue:
    """Say who the team is."""
    asker, form = viewer(), request.form
    details = TeamDetails(*(form.get(key, "") for key in ("affiliation", "country", "home_page")))
    return _changed(team_id, lambda session: teams.describe(session, asker, team_id, details))


@blueprint.post("/teams/<id:team_id>/filed/<slug>")
@rule(SIGNED_IN)
def agree(team_id: int, slug: str) -> ResponseReturnValue:
    """Let the runs that organisers of a task filed for the team stand on its page."""
    asker = viewer()
    return _changed(team_id, lambda session: filed.agree(session, asker, team_id, slug))


@blueprint.post("/teams/<id:team_id>/name")
@rule(SIGNED_IN)
def rename(team_id: int) -> ResponseReturnValue:
    """Give the team another name."""
    asker, name = viewer(), request.form.get("name", "")
    teams.own_team(reading(), asker, team_id)
    return _changed(
        team_id,
        lambda session: teams.count_creation(session, asker, name),
        lambda session: teams.rename(session, asker, team_id, name),
    )


@blueprint.post("/teams/<id:team_id>/members/<id:account_id>/captain")
@rule(SIGNED_IN)
def hand_over(team_id: int, account_id: int) -> ResponseReturnValue:
    """Make another member the captain."""
    asker = viewer()
    return _changed(team_id, lambda session: teams.hand_over(session, asker, team_id, account_id))


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
    return _team_page(team_id, invitation=link), 201


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
