"""Entering a task, and the organisers' list of who has."""

from flask import Blueprint, redirect, render_template, request, url_for
from flask.typing import ResponseReturnValue

from leaderboard.errors import Invalid, LeaderboardError
from leaderboard.pages.tasks import entries as pages
from leaderboard.services.tasks import entries
from leaderboard.services.tasks.entries import EntryRequest
from leaderboard.web import responses
from leaderboard.web.errors import form_again, wants_json
from leaderboard.web.files import number
from leaderboard.web.rules import PUBLIC, SIGNED_IN, rule
from leaderboard.web.session import reading, viewer, writing

blueprint = Blueprint("entries", __name__)


@blueprint.get("/tasks/<slug>/enter")
@rule(PUBLIC)
def form(slug: str) -> ResponseReturnValue:
    """How the task is entered, with its agreement and, for who is signed in, the form."""
    return responses.page(_form_page(slug))


def _form_page(slug: str, error: LeaderboardError | None = None) -> str:
    page = pages.entry_form(reading(), viewer(), slug)
    team = request.form.get("team") or request.args.get("team", "")
    return render_template("tasks/enter.html", page=page, error=error, team=team)


@blueprint.post("/tasks/<slug>/enter")
@rule(SIGNED_IN)
def enter(slug: str) -> ResponseReturnValue:
    """Enter a team, or ask to; a code costs a try."""
    asker, code = viewer(), request.form.get("code", "").strip()
    try:
        team_id = number("team", None)
        if team_id is None:
            raise Invalid("Choose the team that enters.")
        if code:
            with writing() as session:
                entries.count_code(session, asker, slug)
        with writing() as session:
            asked = EntryRequest(code, number("agreed", None))
            state = entries.enter(session, asker, slug, team_id, asked)
    except LeaderboardError as error:
        if wants_json():
            raise
        return form_again(_form_page(slug, error), error)
    return redirect(url_for("entries.form" if state.missing else "uploads.form", slug=slug), 303)


@blueprint.get("/tasks/<slug>/entries")
@rule(SIGNED_IN)
def index(slug: str) -> ResponseReturnValue:
    """The teams in a task, for its organisers."""
    return _list_page(slug)


def _list_page(slug: str, error: LeaderboardError | None = None) -> str:
    page = pages.entry_list(reading(), viewer(), slug)
    return render_template("tasks/entries.html", page=page, table=pages.table(page), error=error)


@blueprint.get("/tasks/<slug>/entries.<form:form>")
@rule(SIGNED_IN)
def export(slug: str, form: str) -> ResponseReturnValue:
    """The teams in a task as a file."""
    return responses.export(form, pages.FILES, pages.entry_list(reading(), viewer(), slug))


@blueprint.post("/tasks/<slug>/entries/<id:team_id>")
@rule(SIGNED_IN)
def decide(slug: str, team_id: int) -> ResponseReturnValue:
    """Let a team in, or refuse it with a reason."""
    asker, accept = viewer(), request.form.get("decision") == "accept"
    try:
        with writing() as session:
            why = request.form.get("why", "")
            entries.decide(session, asker, slug, team_id, accept=accept, why=why)
    except Invalid as error:
        if wants_json():
            raise
        return form_again(_list_page(slug, error), error)
    return redirect(url_for("entries.index", slug=slug), 303)
