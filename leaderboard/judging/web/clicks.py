"""Organisers' pages of a task's query logs and the preferences inferred from their clicks."""

from flask import Blueprint, Response, redirect, render_template, request, url_for
from flask.typing import ResponseReturnValue

from leaderboard.errors import LeaderboardError
from leaderboard.judging.ops import clicks as clicks_services
from leaderboard.judging.ops.clicks import Choice, LogQuery
from leaderboard.judging.page import clicks
from leaderboard.judging.page.clicks import ClickPage
from leaderboard.pooling.clicks import READINGS
from leaderboard.web import actions, http
from leaderboard.web.addresses import kept
from leaderboard.web.rules import SIGNED_IN, rule
from leaderboard.web.session import reading, viewer

blueprint = Blueprint("clicks", __name__)

STATE = ("rule", "least", "keep", "count", "p")
ROWS_AT_FIRST = 100


def _html(page: ClickPage, error: LeaderboardError | None = None) -> str:
    return render_template(
        "judging/clicks/show.html",
        page=page,
        tables={name: table(page) for name, table in clicks.TABLES.items()},
        readings=tuple(READINGS.values()),
        args=kept(STATE, lists=["log"]),
        rows_at_first=ROWS_AT_FIRST,
        error=error,
        log=actions.form(LogQuery, error),
        sent=request.form,
    )


@http.with_files(blueprint, "/tasks/<slug>/clicks", _html, clicks.FILES, is_kept=False)
@rule(SIGNED_IN)
def show(slug: str) -> ClickPage:
    """The logs, the preferences for the choice in the address, and the forms to import and publish."""
    return clicks.click_page(reading(), viewer(), slug, _choice())


@blueprint.get("/tasks/<slug>/clicks.txt")
@rule(SIGNED_IN)
def show_file(slug: str) -> ResponseReturnValue:
    """The preferences as a preference file."""
    from_clicks = clicks_services.find_preference(reading(), viewer(), slug, _choice())
    response = Response(clicks_services.as_file(from_clicks), mimetype="text/plain")
    response.headers["Content-Disposition"] = f'attachment; filename="{slug}-preferences.txt"'
    return response


def _choice() -> Choice:
    reading_key, least, keep, counted, p = (request.args.get(name, "").strip() for name in STATE)
    return clicks_services.preference_choice(
        reading_key, least, keep, counted, p, request.args.getlist("log")
    )


actions.add_to(
    blueprint,
    clicks_services.ACTIONS,
    lambda slug, error, **_: _html(clicks.click_page(reading(), viewer(), slug, Choice()), error),
)
actions.add_to(
    blueprint,
    (clicks_services.PUBLISH,),
    lambda slug, error: _html(show(slug), error),
    then={"publish_clicks": lambda _, slug: redirect(url_for("revisions.index", slug=slug), 303)},
    refusals=(LeaderboardError,),
)
