"""The phases of a task: for everybody a table and a calendar, for its organisers forms."""

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

from flask import Blueprint, Flask, redirect, render_template, request, url_for
from flask.typing import ResponseReturnValue
from sqlalchemy.orm import Session

from leaderboard.errors import Conflict, Invalid, LeaderboardError, NotFound
from leaderboard.pages.tasks import calendars
from leaderboard.pages.tasks import phases as pages
from leaderboard.pages.tasks.phases import DateRow, PhaseRow
from leaderboard.services import policy
from leaderboard.services.runs.admission import KINDS
from leaderboard.services.tasks import dates, phases
from leaderboard.services.tasks.phases import PhasePlan
from leaderboard.web import responses
from leaderboard.web.addresses import absolute
from leaderboard.web.errors import form_again, wants_json
from leaderboard.web.files import number
from leaderboard.web.rules import PUBLIC, SIGNED_IN, rule
from leaderboard.web.session import reading, viewer, wake, writing

blueprint = Blueprint("phases", __name__)

LIMITS = {
    "runs_per_day": "Runs of a team a day",
    "runs_in_all": "Runs of a team in all",
    "account_runs_per_day": "Runs of an account a day",
    "account_runs_in_all": "Runs of an account in all",
    "largest_bytes": "Bytes of a file",
}
TEXTS = (
    "name",
    "opens",
    "closes",
    "topics",
    "topic_list",
    "seed",
    "visibility",
    "at_close",
    "reveal",
    "reason",
)
NEW: dict[str, Any] = {**dict.fromkeys((*TEXTS, *LIMITS), ""), "zone": "UTC", "kinds": (), "ranked": True}
"""The fields of the form that adds a phase."""


def register(app: Flask) -> None:
    """Let every page of a task say its dates."""
    app.jinja_env.globals.update(dates_of=dates_of, takes=takes, anywhere=pages.anywhere)


def dates_of(slug: str) -> tuple[DateRow, ...]:
    """What the strip under a task's title says; nothing for a task that the reader may not know of."""
    try:
        known = policy.seen_task(reading(), viewer(), slug).phases
    except NotFound:
        return ()
    # The clock of this machine is good enough for how many days are left, and costs no statement.
    return pages.strip(known, datetime.now(UTC))


def takes(slug: str) -> str:
    """What a task takes: rankings unless it is known to take something else."""
    # A run's page knows its task, and has no statement to spare for the tabs above it.
    if kind := reading().info.get(f"kind of {slug}"):
        return str(kind)
    try:
        return policy.seen_task(reading(), viewer(), slug).task.kind
    except NotFound:
        return "rankings"


@blueprint.get("/tasks/<slug>/phases")
@rule(PUBLIC)
def show(slug: str) -> ResponseReturnValue:
    """The phases of a task."""
    return responses.page(_page(slug))


@blueprint.get("/tasks/<slug>/phases.<form:form>")
@rule(PUBLIC)
def export(slug: str, form: str) -> ResponseReturnValue:
    """The phases as a file."""
    return responses.export(form, pages.FILES, pages.phases_page(reading(), viewer(), slug))


@blueprint.get("/tasks/<slug>/dates.ics")
@rule(PUBLIC)
def calendar(slug: str) -> ResponseReturnValue:
    """The dates as a calendar file."""
    return responses.as_followed(calendars.of_task(reading(), viewer(), slug, _dates_of), "text/calendar")


@blueprint.get("/dates.ics")
@rule(PUBLIC)
def site_calendar() -> ResponseReturnValue:
    """The dates of all tasks as a calendar file."""
    return responses.as_followed(calendars.of_site(reading(), _dates_of), "text/calendar")


def _dates_of(slug: str) -> str:
    return absolute("phases.show", slug=slug)


@blueprint.post("/tasks/<slug>/phases")
@rule(SIGNED_IN)
def add(slug: str) -> ResponseReturnValue:
    """Add a phase."""
    return _changed(slug, lambda session, asker: phases.add(session, asker, slug, _plan()))


@blueprint.post("/tasks/<slug>/phases/change")
@rule(SIGNED_IN)
def change(slug: str) -> ResponseReturnValue:
    """Make a phase what the form says."""
    form = request.form
    name, reason = form.get("phase", ""), form.get("reason", "")
    return _changed(slug, lambda session, asker: phases.change(session, asker, slug, name, _plan(), reason))


@blueprint.post("/tasks/<slug>/phases/remove")
@rule(SIGNED_IN)
def remove(slug: str) -> ResponseReturnValue:
    """Take a phase away that has no runs."""
    name = request.form.get("phase", "")
    return _changed(slug, lambda session, asker: phases.remove(session, asker, slug, name))


@blueprint.post("/tasks/<slug>/phases/reveal")
@rule(SIGNED_IN)
def reveal(slug: str) -> ResponseReturnValue:
    """Show the scores of a closed phase."""
    name = request.form.get("phase", "")
    return _changed(slug, lambda session, asker: phases.reveal(session, asker, slug, name))


@blueprint.post("/tasks/<slug>/phases/extend")
@rule(SIGNED_IN)
def extend(slug: str) -> ResponseReturnValue:
    """Move the deadline by the hours of an outage."""
    reason = request.form.get("reason", "")

    def moved(session: Session, asker: policy.Viewer) -> None:
        phases.extend(session, asker, slug, number("hours", None) or 0, reason)

    return _changed(slug, moved)


def _changed(slug: str, act: Callable[[Session, policy.Viewer], object]) -> ResponseReturnValue:
    asker = viewer()
    try:
        with writing() as session:
            act(session, asker)
    except (Invalid, Conflict) as error:
        if wants_json():
            raise
        return form_again(_page(slug, error), error)
    wake()
    return redirect(url_for("phases.show", slug=slug), 303)


def _page(slug: str, error: LeaderboardError | None = None) -> str:
    page = pages.phases_page(reading(), viewer(), slug)
    shown = {"": NEW, **{row.name: _fields(row) for row in page.rows}}
    # A refused form is shown again as it was typed; the page's other forms have no field `name`.
    sent = request.form.get("phase", "") if error and "name" in request.form else None
    if sent is not None:
        shown[sent] = _sent()
    return render_template(
        "tasks/phases.html",
        page=page,
        table=pages.table(page),
        error=error,
        shown=shown,
        sent=sent,
        kinds=KINDS,
        topic_choices=phases.TOPIC_CHOICES,
        at_close=phases.CLOSES,
        limits=LIMITS,
    )


def _sent() -> dict[str, Any]:
    """The fields of a form as they were typed."""
    form = request.form
    return {**NEW, **form, "kinds": form.getlist("kinds"), "ranked": "ranked" in form}


def _fields(row: PhaseRow) -> dict[str, Any]:
    """The fields of a form that shows a phase."""
    moments = {"opens": row.opens_at, "closes": row.closes_at, "reveal": row.reveal_at}
    limits = {key: getattr(row, key) for key in LIMITS}
    return {
        **NEW,
        **{key: dates.written(moment, row.zone) for key, moment in moments.items()},
        **{key: "" if limit is None else limit for key, limit in limits.items()},
        "name": row.name,
        "zone": row.zone,
        "topics": row.topic_choice,
        "topic_list": row.topic_list,
        "seed": row.seed,
        "visibility": row.own_visibility,
        "at_close": row.at_close,
        "kinds": row.kinds,
        "ranked": row.ranked,
    }


def _plan() -> PhasePlan:
    form = request.form
    zone = form.get("zone", "").strip() or "UTC"
    return PhasePlan(
        name=form.get("name", ""),
        opens_at=dates.read(form.get("opens", ""), zone, "opens"),
        closes_at=dates.read(form.get("closes", ""), zone, "closes"),
        zone=zone,
        topics=form.get("topics", phases.ALL),
        topic_list=form.get("topic_list", ""),
        seed=form.get("seed", "")[:64],
        visibility=form.get("visibility", ""),
        at_close=form.get("at_close", "open"),
        reveal_at=dates.read(form.get("reveal", ""), zone, "reveal"),
        kinds=tuple(kind for kind in KINDS if kind in form.getlist("kinds")),
        ranked="ranked" in form,
        seen=form.get("seen", ""),
        **{key: number(key, None) for key in LIMITS},
    )
