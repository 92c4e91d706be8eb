"""Combined boards: draw the sample for people to judge, and show the board based on both."""

from flask import Blueprint, Response, redirect, render_template, request, url_for
from flask.typing import ResponseReturnValue

from leaderboard.core import policy
from leaderboard.errors import Invalid, LeaderboardError
from leaderboard.judging.ops import combined as combined_services
from leaderboard.judging.page import combined
from leaderboard.judging.page.combined import CombinedChoice, CombinedPage, combined_page
from leaderboard.judging.web.desks import or_again
from leaderboard.web import actions, responses
from leaderboard.web.addresses import kept, whole
from leaderboard.web.rules import PUBLIC, SIGNED_IN, number, rule
from leaderboard.web.session import reading, viewer, writing

blueprint = Blueprint("combined", __name__)

STATE = ("measure", "sample", "by")


@blueprint.get("/tasks/<slug>/combined")
@rule(PUBLIC)
def show(slug: str) -> ResponseReturnValue:
    """The ranked runs combined, and by people and machine alone."""
    return _page(slug)


def _page(slug: str, error: LeaderboardError | None = None) -> str | Response:
    page = _combined(slug)
    html = render_template(
        "judging/combined/show.html",
        page=page,
        runs=combined.runs_table(page),
        teams=combined.teams_table(page),
        models=combined.models_table(page),
        args=kept(STATE),
        error=error,
        sent=request.form,
    )
    return responses.page(html) if error is None else html


@blueprint.get("/tasks/<slug>/combined.<form:form>")
@rule(PUBLIC)
def export(slug: str, form: str) -> ResponseReturnValue:
    """The combined board as JSON, or one of its tables as CSV or LaTeX."""
    return responses.export(form, combined.COMBINED_FILES, _combined(slug))


@blueprint.post("/tasks/<slug>/combined")
@rule(SIGNED_IN)
@or_again(_page)
def draw(slug: str) -> ResponseReturnValue:
    """Draw documents or complete topics for people, as a draft pool."""
    asker = viewer()
    policy.own_task(reading(), asker, slug, policy.coordinates)
    topics = None
    if request.form.get("design") == "topics":
        topics = number("topics", None)
        if topics is None:
            raise Invalid("Enter the number of topics to judge completely, such as 25.")
    # An unreadable share does not matter if complete topics are drawn.
    share = (number("percent", 20) or 0) / 100 if topics is None else 0.0
    seed, seconds, note = number("seed", 1) or 0, number("seconds", 30) or 0, request.form.get("note", "")
    with writing() as session:
        pool_number = combined_services.draw(
            session, asker, slug, share, topics, seed=seed, seconds=seconds, note=note
        )
    return redirect(url_for("pools.show", slug=slug, number=pool_number), 303)


def _combined(slug: str) -> CombinedPage:
    text = request.args.get("sample", "").strip()
    sample = whole(text, digits=9)
    if text and sample is None:
        raise Invalid("Identify a sample by its pool number.")
    choice = CombinedChoice(
        measure=request.args.get("measure") or None, number=sample, order=request.args.get("by", "combined")
    )
    return combined_page(reading(), viewer(), slug, choice)


actions.add_to(
    blueprint,
    combined_services.ACTIONS,
    then={
        "show_sample": lambda _, slug, number: redirect(
            url_for("combined.show", slug=slug, sample=number), 303
        )
    },
)
