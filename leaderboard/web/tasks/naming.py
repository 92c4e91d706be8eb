"""Names of teams in a task: pseudonyms for organisers, a team's own choice, and links for reviewers."""

from datetime import datetime

from flask import Blueprint, Response, redirect, render_template, request, url_for
from flask.typing import ResponseReturnValue

from leaderboard import zones
from leaderboard.errors import Conflict, Invalid, LeaderboardError
from leaderboard.pages.tasks import naming as pages
from leaderboard.pages.tasks import review as review_pages
from leaderboard.services.pseudonyms import pseudonyms, reviews
from leaderboard.services.pseudonyms.pseudonyms import UNTIL, NamingRequest
from leaderboard.services.pseudonyms.words import TITLES
from leaderboard.web import moments, responses
from leaderboard.web.errors import form_again, wants_json
from leaderboard.web.files import number
from leaderboard.web.rules import PUBLIC, SIGNED_IN, rule
from leaderboard.web.session import reading, viewer, writing

blueprint = Blueprint("naming", __name__)


@blueprint.get("/tasks/<slug>/pseudonyms")
@rule(SIGNED_IN)
def show(slug: str) -> ResponseReturnValue:
    """Who goes by which pseudonym, and the forms that change it; for organisers."""
    return _page(slug)


@blueprint.get("/tasks/<slug>/pseudonyms.<form:form>")
@rule(SIGNED_IN)
def export(slug: str, form: str) -> ResponseReturnValue:
    """The map of teams and pseudonyms as a file; for organisers."""
    response = responses.export(form, pages.FILES, pages.naming_page(reading(), viewer(), slug))
    response.headers["Cache-Control"] = "no-store"
    return response


@blueprint.post("/tasks/<slug>/pseudonyms")
@rule(SIGNED_IN)
def give(slug: str) -> ResponseReturnValue:
    """Give all teams a pseudonym, or change until when they go by it."""
    asker, form = viewer(), request.form
    try:
        wanted = NamingRequest(
            kind=form.get("kind", "animals"),
            until=form.get("until", "close"),
            names_at=_moment(form.get("names_at", "")),
            is_sure="sure" in form,
        )
        with writing() as session:
            pseudonyms.give(session, asker, slug, wanted)
    except (Invalid, Conflict) as error:
        return _again(slug, error)
    return redirect(url_for("naming.show", slug=slug), 303)


@blueprint.post("/tasks/<slug>/pseudonyms/draw")
@rule(SIGNED_IN)
def draw(slug: str) -> ResponseReturnValue:
    """Draw all pseudonyms anew."""
    asker, form = viewer(), request.form
    try:
        with writing() as session:
            kind = form.get("kind", "animals")
            pseudonyms.draw_again(session, asker, slug, kind, is_sure="sure" in form)
    except (Invalid, Conflict) as error:
        return _again(slug, error)
    return redirect(url_for("naming.show", slug=slug), 303)


@blueprint.post("/tasks/<slug>/pseudonyms/take-back")
@rule(SIGNED_IN)
def take_back(slug: str) -> ResponseReturnValue:
    """Show the names of all teams again."""
    asker = viewer()
    try:
        with writing() as session:
            pseudonyms.take_back(session, asker, slug)
    except Conflict as error:
        return _again(slug, error)
    return redirect(url_for("naming.show", slug=slug), 303)


def _again(slug: str, error: LeaderboardError) -> ResponseReturnValue:
    if wants_json():
        raise error
    return form_again(_page(slug, error), error)


def _page(slug: str, error: LeaderboardError | None = None) -> str:
    page = pages.naming_page(reading(), viewer(), slug)
    return render_template(
        "tasks/naming.html",
        page=page,
        written=zones.written,
        table=pages.table(page),
        kinds=TITLES,
        until=UNTIL,
        error=error,
        sent=request.form,
    )


def _moment(text: str) -> datetime | None:
    return moments.moment(text) if text.strip() else None


@blueprint.get("/tasks/<slug>/own-names")
@rule(SIGNED_IN)
def own(slug: str) -> ResponseReturnValue:
    """What others call the viewer's teams in a task."""
    return _own_page(slug)


def _own_page(slug: str, link: str = "", error: LeaderboardError | None = None) -> str:
    page = pages.own_teams_page(reading(), viewer(), slug)
    tables = {team.team_id: pages.links_table(team) for team in page.teams}
    return render_template(
        "tasks/own_names.html",
        page=page,
        tables=tables,
        link=link,
        error=error,
        until=UNTIL,
        days=reviews.DAYS,
    )


@blueprint.post("/tasks/<slug>/own-names/<id:team_id>/show")
@rule(SIGNED_IN)
def show_name(slug: str, team_id: int) -> ResponseReturnValue:
    """Show the name of the viewer's team."""
    asker = viewer()
    with writing() as session:
        pseudonyms.show_name(session, asker, slug, team_id)
    return redirect(url_for("naming.own", slug=slug), 303)


@blueprint.post("/tasks/<slug>/own-names/<id:team_id>/links")
@rule(SIGNED_IN)
def make_link(slug: str, team_id: int) -> ResponseReturnValue:
    """Make a link for reviewers and show it, this once."""
    asker, form = viewer(), request.form
    try:
        days = number("days", reviews.DAYS) or 0
        with writing() as session:
            token = reviews.make(session, asker, slug, team_id, days, form.get("note", ""))
    except (Invalid, Conflict) as error:
        if wants_json():
            raise
        return form_again(_own_page(slug, error=error), error)
    return _own_page(slug, url_for("naming.review", token=token, _external=True)), 201


@blueprint.post("/tasks/<slug>/own-names/<id:team_id>/links/<id:invitation_id>/end")
@rule(SIGNED_IN)
def end_link(slug: str, team_id: int, invitation_id: int) -> ResponseReturnValue:
    """End a link for reviewers."""
    asker = viewer()
    with writing() as session:
        reviews.end(session, asker, slug, team_id, invitation_id)
    return redirect(url_for("naming.own", slug=slug), 303)


@blueprint.get("/review/<token>")
@rule(PUBLIC)
def review(token: str) -> ResponseReturnValue:
    """A team's own runs under its pseudonym, for whoever has the link; no search engine keeps the page."""
    page = review_pages.review_page(reading(), token)
    html = render_template("tasks/review.html", page=page, table=review_pages.table(page))
    response = Response(html, mimetype="text/html")
    response.headers["Cache-Control"] = "no-store"
    response.headers["X-Robots-Tag"] = "noindex"
    response.headers["Referrer-Policy"] = "no-referrer"
    return response
