"""Teams: making them, their pages, inviting, joining, leaving, merging."""

from functools import cache

from flask import Blueprint, redirect, render_template, request, url_for
from flask.typing import ResponseReturnValue
from markupsafe import Markup, escape

from leaderboard import fields
from leaderboard.accounts.ops import invitations, teams
from leaderboard.accounts.ops.invitations import TeamInvitation
from leaderboard.accounts.ops.teams import NewTeam, TeamChanges
from leaderboard.accounts.page import accounts as pages
from leaderboard.accounts.page import invitations as listed
from leaderboard.accounts.web.invitations import link_of
from leaderboard.errors import LeaderboardError
from leaderboard.tasks.ops import entries
from leaderboard.tasks.page import teams as team_pages
from leaderboard.tasks.page.teams import TeamPage
from leaderboard.web import actions, http
from leaderboard.web.addresses import addresses_by_id
from leaderboard.web.filters import CellMacro, utc
from leaderboard.web.http import local_path
from leaderboard.web.rules import PUBLIC, SIGNED_IN, rule
from leaderboard.web.session import reading, viewer

blueprint = Blueprint("teams", __name__)
ROWS_AT_FIRST = 200


@blueprint.get("/teams")
@rule(SIGNED_IN)
def index() -> ResponseReturnValue:
    """The viewer's teams and the form that makes one."""
    return _index_page()


def _index_page(error: LeaderboardError | None = None) -> str:
    table = pages.teams_table(pages.own_teams(reading(), viewer()))
    target = local_path(request.values.get("next", ""), "")
    form = actions.form(NewTeam, error)
    return render_template("accounts/teams.html", table=table, error=error, form=form, next=target)


@blueprint.get("/teams/<id:team_id>")
@rule(PUBLIC)
def show(team_id: int) -> ResponseReturnValue:
    """A team with its runs, and for its members what they can change."""
    page = team_pages.team_page(reading(), viewer(), team_id)
    if page.id != team_id:
        return redirect(url_for("teams.show", team_id=page.id), 303)
    return http.page(_html(page))


def _team_page(
    team_id: int, error: LeaderboardError | None = None, *, invitation: str = "", **_: object
) -> str:
    return _html(team_pages.team_page(reading(), viewer(), team_id), error, invitation=invitation)


def _html(page: TeamPage, error: LeaderboardError | None = None, *, invitation: str = "") -> str:
    links = listed.invitation_rows(reading(), invitations.TEAM, team_id=page.id) if page.is_member else ()
    return render_template(
        "accounts/team.html",
        page=page,
        members=team_pages.members_table(page),
        runs=team_pages.runs_table(page),
        shown_runs=page.runs if "all" in request.args else page.runs[:ROWS_AT_FIRST],
        run_cells=_run_cells(),
        invitation=invitation,
        invitations=listed.table(links),
        error=error,
        invite=actions.form(TeamInvitation, error),
        details=actions.form(TeamChanges, error, fields.texts(page.details) | {"name": page.name}),
    )


def _run_cells() -> dict[str, CellMacro]:
    """The cells of a team's runs, formatted in Python: macros take twice as long for a thousand runs."""
    run_address = addresses_by_id("runs.show", "run_id")

    @cache
    def task(slug: str, name: str) -> Markup:
        return Markup('<a href="{}">{}</a>').format(url_for("boards.board", slug=slug), name)

    return {
        "task": lambda row, _: task(row.slug, row.task),
        "run": lambda row, _: Markup(f'<a href="{escape(run_address(row.run_id))}">{escape(row.name)}</a>'),
        "sent": lambda row, _: utc(row.created_at),
    }


def _made(team_id: int) -> ResponseReturnValue:
    return redirect(local_path(request.form.get("next", ""), url_for("teams.show", team_id=team_id)), 303)


def _invited(secret: str, team_id: int) -> ResponseReturnValue:
    return _team_page(team_id, invitation=link_of(secret)), 201


MAKE, *OTHERS = teams.ACTIONS
actions.add_to(blueprint, [MAKE], _index_page, then={"make_team": _made}, refusals=(LeaderboardError,))
actions.add_to(
    blueprint, (*OTHERS, entries.AGREE, invitations.TO_TEAM), _team_page, then={"invite_to_team": _invited}
)
