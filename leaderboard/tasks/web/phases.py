"""The phases of a task: for everybody a table and a calendar, for its organisers forms."""

from flask import Blueprint, render_template, request
from flask.typing import ResponseReturnValue

from leaderboard import fields
from leaderboard.errors import LeaderboardError
from leaderboard.tasks.ops import phases
from leaderboard.tasks.ops.phases import PhaseChange, PhaseExtension, PhasePlan
from leaderboard.tasks.page import phases as pages
from leaderboard.tasks.page.phases import PhasesPage
from leaderboard.web import actions, http
from leaderboard.web.addresses import absolute
from leaderboard.web.rules import PUBLIC, rule
from leaderboard.web.session import reading, viewer

blueprint = Blueprint("phases", __name__)


@blueprint.get("/tasks/<slug>/dates.ics")
@rule(PUBLIC)
def calendar(slug: str) -> ResponseReturnValue:
    """The dates as a calendar file."""
    return http.as_followed(pages.of_task(reading(), viewer(), slug, _dates_of), "text/calendar")


@blueprint.get("/dates.ics")
@rule(PUBLIC)
def site_calendar() -> ResponseReturnValue:
    """The dates of all tasks as a calendar file."""
    return http.as_followed(pages.of_site(reading(), _dates_of), "text/calendar")


def _dates_of(slug: str) -> str:
    return absolute("phases.show", slug=slug)


def _html(page: PhasesPage, error: LeaderboardError | None = None) -> str:
    shown = {"": fields.empty(PhaseChange), **{row.name: fields.texts(row.plan) for row in page.rows}}
    # A refused form is shown again as it was typed; the page's other forms have no field `name`.
    typed = request.form.get("phase", "") if error and "name" in request.form else None
    if typed is not None:
        # But for its stamp: a repeated save is based on the current values.
        seen = shown.get(typed, shown[""])["seen"]
        shown[typed] = {**shown[""], **actions.sent(PhaseChange), "seen": seen}
    return render_template(
        "tasks/phases.html",
        page=page,
        table=pages.table(page),
        error=error,
        shown=shown,
        sent=typed,
        added=fields.of(PhasePlan),
        changed=fields.of(PhaseChange),
        extension=fields.of(PhaseExtension),
    )


@http.with_files(blueprint, "/tasks/<slug>/phases", _html, pages.FILES)
@rule(PUBLIC, carries="board")
def show(slug: str) -> PhasesPage:
    """The phases of a task."""
    return pages.phases_page(reading(), viewer(), slug)


actions.add_to(blueprint, phases.ACTIONS, lambda slug, error=None: _html(show(slug), error))
