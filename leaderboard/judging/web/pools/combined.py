"""Combined boards: draw the sample for people to judge, and show the board based on both."""

from flask import Blueprint, redirect, render_template, request, url_for

from leaderboard import fields
from leaderboard.errors import Invalid, LeaderboardError
from leaderboard.judging.ops import combined as combined_services
from leaderboard.judging.ops.combined import SamplePlan
from leaderboard.judging.page import combined
from leaderboard.judging.page.combined import CombinedChoice, CombinedPage, combined_page
from leaderboard.web import actions, http
from leaderboard.web.addresses import kept, whole
from leaderboard.web.rules import PUBLIC, rule
from leaderboard.web.session import reading, viewer

blueprint = Blueprint("combined", __name__)

STATE = ("measure", "sample", "by")


def _html(page: CombinedPage, error: LeaderboardError | None = None) -> str:
    drawn = fields.empty(SamplePlan) | ({"seed": page.sample.seed} if page.sample else {})
    return render_template(
        "judging/combined/show.html",
        page=page,
        runs=combined.runs_table(page),
        teams=combined.teams_table(page),
        models=combined.models_table(page),
        args=kept(STATE),
        error=error,
        draw=actions.form(SamplePlan, error, drawn),
    )


@http.with_files(blueprint, "/tasks/<slug>/combined", _html, combined.COMBINED_FILES)
@rule(PUBLIC, carries="board")
def show(slug: str) -> CombinedPage:
    """The ranked runs combined, and by people and machine alone."""
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
    (combined_services.DRAW, *combined_services.ACTIONS),
    lambda slug, error, **_: _html(show(slug), error),
    then={
        "draw_sample": lambda number, slug: redirect(url_for("pools.show", slug=slug, number=number), 303),
        "show_sample": lambda _, slug, number: redirect(
            url_for("combined.show", slug=slug, sample=number), 303
        ),
    },
)
