"""Groups of teams and families of runs, as an organiser declares them."""

from flask import Blueprint, redirect, render_template, request, url_for
from flask.typing import ResponseReturnValue

from leaderboard.errors import Conflict, Invalid, LeaderboardError, Problem
from leaderboard.pages.tasks import groups as pages
from leaderboard.services.boards import groups
from leaderboard.web.addresses import whole
from leaderboard.web.errors import form_again, wants_json
from leaderboard.web.rules import SIGNED_IN, rule
from leaderboard.web.session import reading, viewer, writing

blueprint = Blueprint("groups", __name__)


@blueprint.get("/tasks/<slug>/groups")
@rule(SIGNED_IN)
def show(slug: str) -> ResponseReturnValue:
    """The groups of a task and the form that declares one; for organisers."""
    return _page(slug)


def _page(slug: str, error: LeaderboardError | None = None) -> str:
    page = pages.groups_page(reading(), viewer(), slug)
    chosen = {field: set(request.form.getlist(field)) for field in ("team", "run")}
    return render_template(
        "tasks/groups.html", page=page, table=pages.table(page), error=error, sent=request.form, chosen=chosen
    )


@blueprint.post("/tasks/<slug>/groups")
@rule(SIGNED_IN)
def declare(slug: str) -> ResponseReturnValue:
    """Declare a group, or give one other members."""
    asker = viewer()
    try:
        name, teams, runs = request.form.get("name", ""), _ids("team"), _ids("run")
        with writing() as session:
            groups.declare(session, asker, slug, name, teams=teams, runs=runs)
    except (Invalid, Conflict) as error:
        if wants_json():
            raise
        return form_again(_page(slug, error), error)
    return redirect(url_for("groups.show", slug=slug), 303)


@blueprint.post("/tasks/<slug>/groups/<id:group_id>/remove")
@rule(SIGNED_IN)
def remove(slug: str, group_id: int) -> ResponseReturnValue:
    """Take a group away."""
    asker = viewer()
    with writing() as session:
        groups.remove(session, asker, slug, group_id)
    return redirect(url_for("groups.show", slug=slug), 303)


def _ids(field: str) -> list[int]:
    """The ids ticked in a form; raises Invalid for what is none."""
    ids = {text: whole(text) for text in request.form.getlist(field)}
    wrong = next((text for text, number in ids.items() if number is None), None)
    if wrong is not None:
        problem = Problem("must be an id.", "Tick a box of the form.", field=field, value=wrong[:40])
        raise Invalid("No group was declared.", [problem])
    return [number for number in ids.values() if number is not None]
