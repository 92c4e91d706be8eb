"""Names of teams in a task: pseudonyms for organisers, a team's own choice, and links for reviewers."""

from flask import Blueprint, Response, render_template, url_for
from flask.typing import ResponseReturnValue

from leaderboard import fields
from leaderboard.errors import LeaderboardError
from leaderboard.tasks.ops.pseudonyms import pseudonyms, reviews
from leaderboard.tasks.ops.pseudonyms.pseudonyms import UNTIL, Naming
from leaderboard.tasks.ops.pseudonyms.reviews import ReviewBody
from leaderboard.tasks.page import naming as pages
from leaderboard.tasks.page.naming import NamingPage
from leaderboard.web import actions, http
from leaderboard.web.rules import PUBLIC, SIGNED_IN, rule
from leaderboard.web.session import reading, viewer

blueprint = Blueprint("naming", __name__)


@blueprint.get("/tasks/<slug>/pseudonyms")
@rule(SIGNED_IN)
def show(slug: str) -> ResponseReturnValue:
    """The pseudonyms of the teams, and the forms that change them; for organisers."""
    return _page(slug)


@blueprint.get("/tasks/<slug>/pseudonyms.<form:form>")
@rule(SIGNED_IN)
def export(slug: str, form: str) -> ResponseReturnValue:
    """The map of teams and pseudonyms as a file; for organisers."""
    response = http.export(form, pages.FILES, pages.naming_page(reading(), viewer(), slug))
    response.headers["Cache-Control"] = "no-store"
    return response


def _page(slug: str, error: LeaderboardError | None = None) -> str:
    page = pages.naming_page(reading(), viewer(), slug)
    return render_template(
        "tasks/naming.html",
        page=page,
        table=pages.table(page),
        until=UNTIL,
        error=error,
        form=actions.form(Naming, error, fields.texts(_now(page))),
    )


def _now(page: NamingPage) -> Naming:
    """The current naming of the teams, or the default."""
    of = page.of
    until = of.naming if of.pseudonym_list else "close"
    return Naming(kind=of.pseudonym_list or "animals", until=until, names_at=of.names_at)


@blueprint.get("/tasks/<slug>/own-names")
@rule(SIGNED_IN)
def own(slug: str) -> ResponseReturnValue:
    """The visible names of the viewer's teams in a task."""
    return _own_page(slug)


def _own_page(slug: str, *, link: str = "", error: LeaderboardError | None = None, **_: object) -> str:
    page = pages.own_teams_page(reading(), viewer(), slug)
    tables = {team.team_id: pages.links_table(team) for team in page.teams}
    return render_template(
        "tasks/own_names.html",
        page=page,
        tables=tables,
        link=link,
        error=error,
        until=UNTIL,
        form=actions.form(ReviewBody),
    )


@blueprint.get("/review/<token>")
@rule(PUBLIC)
def review(token: str) -> ResponseReturnValue:
    """A team's runs under its pseudonym, for anyone with the link; not indexed by search engines."""
    page = pages.review_page(reading(), token)
    html = render_template("tasks/review.html", page=page, table=pages.review_table(page))
    response = Response(html, mimetype="text/html")
    response.headers["Cache-Control"] = "no-store"
    response.headers["X-Robots-Tag"] = "noindex"
    response.headers["Referrer-Policy"] = "no-referrer"
    return response


def _linked(secret: str, slug: str, **_: object) -> ResponseReturnValue:
    return _own_page(slug, link=url_for("naming.review", token=secret, _external=True)), 201


actions.add_to(blueprint, pseudonyms.ACTIONS, _page)
actions.add_to(
    blueprint, (pseudonyms.SHOW_NAME, *reviews.ACTIONS), _own_page, then={"make_review_link": _linked}
)
