"""The form that enters a task, and the organisers' list of entered teams."""

from flask import Blueprint, redirect, render_template, request, url_for
from flask.typing import ResponseReturnValue

from leaderboard.errors import LeaderboardError
from leaderboard.tasks.ops import entries
from leaderboard.tasks.ops.entries import EntryState
from leaderboard.tasks.page import organise as pages
from leaderboard.tasks.page.organise import EntryList
from leaderboard.web import actions, http
from leaderboard.web.rules import PUBLIC, SIGNED_IN, rule
from leaderboard.web.session import reading, viewer

blueprint = Blueprint("entries", __name__)


@blueprint.get("/tasks/<slug>/enter")
@rule(PUBLIC)
def form(slug: str) -> ResponseReturnValue:
    """The entry page of the task, with its agreement and, after sign-in, the form."""
    return http.page(_form_page(slug))


def _form_page(slug: str, error: LeaderboardError | None = None) -> str:
    page = pages.entry_form(reading(), viewer(), slug)
    team = request.form.get("team_id") or request.args.get("team", "")
    return render_template("tasks/enter.html", page=page, error=error, team=team)


def _list_html(page: EntryList, error: LeaderboardError | None = None) -> str:
    return render_template("tasks/entries.html", page=page, table=pages.entries_table(page), error=error)


@http.with_files(
    blueprint, "/tasks/<slug>/entries", _list_html, pages.ENTRIES_FILES, endpoint="export", is_kept=False
)
@rule(SIGNED_IN)
def index(slug: str) -> EntryList:
    """The teams in a task, for its organisers."""
    return pages.entry_list(reading(), viewer(), slug)


def _entered(state: EntryState, slug: str) -> ResponseReturnValue:
    return redirect(url_for("entries.form" if state.missing else "uploads.form", slug=slug), 303)


actions.add_to(
    blueprint, [entries.ENTER], _form_page, then={"enter_task": _entered}, refusals=(LeaderboardError,)
)
actions.add_to(blueprint, [entries.DECIDE], lambda slug, error=None, **_: _list_html(index(slug), error))
