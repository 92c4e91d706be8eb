"""Making a suite, changing it, taking it off the site and putting it back."""

from flask import Blueprint, redirect, render_template, request, url_for
from flask.typing import ResponseReturnValue

from leaderboard import fields
from leaderboard.errors import LeaderboardError
from leaderboard.services.suites import changes, drafts, records
from leaderboard.services.suites.drafts import SuiteDraft
from leaderboard.web import actions
from leaderboard.web.rules import SIGNED_IN, rule
from leaderboard.web.session import reading, viewer

blueprint = Blueprint("suite_settings", __name__)


@blueprint.get("/suites/new")
@rule(SIGNED_IN)
def new() -> ResponseReturnValue:
    """The form that makes a suite; for who organises tasks."""
    changes.require_maker(reading(), viewer())
    return _page()


@blueprint.get("/suites/<suite>/settings")
@rule(SIGNED_IN)
def show(suite: str) -> ResponseReturnValue:
    """The form that changes a suite."""
    return _page(suite)


def _page(suite: str = "", error: LeaderboardError | None = None) -> str:
    """The form of a suite, or of a new one; what was refused is shown again."""
    known = records.own_suite(reading(), viewer(), suite) if suite else None
    draft = changes.draft_of(known) if known else None
    stored = {**fields.texts(draft), "members": drafts.member_lines(draft.members)} if draft else {}
    return render_template(
        "suites/settings.html",
        suite=suite,
        sent=request.form if error else stored or request.args,
        error=error,
        asked=[each for each in fields.of(SuiteDraft) if each.name != "slug"],
        problems=actions.problems(error),
        is_shown=known is None or known.suite.withdrawn_at is None,
    )


actions.add_to(
    blueprint,
    changes.SETTINGS,
    _page,
    then={"make_suite": lambda made: redirect(url_for("suites.show", suite=made), 303)},
)
