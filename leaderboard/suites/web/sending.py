"""Suite runs: submit an archive, combine existing runs, withdraw and restore."""

import secrets

from flask import Blueprint, jsonify, redirect, render_template, request, url_for
from flask.typing import ResponseReturnValue

from leaderboard.errors import LeaderboardError
from leaderboard.suites import page as pages
from leaderboard.suites.ops import changes, sending
from leaderboard.suites.ops.sending import PreparedSubmission
from leaderboard.web import actions
from leaderboard.web.errors import wants_json
from leaderboard.web.rules import SIGNED_IN, received, rule
from leaderboard.web.session import finish_reading, reading, settings, viewer

blueprint = Blueprint("suite_sending", __name__)


@blueprint.get("/suites/<suite>/submit")
@rule(SIGNED_IN)
def form(suite: str) -> ResponseReturnValue:
    """The form that submits a suite run."""
    return _form_page(suite)


def _answer(outcome: int | PreparedSubmission, suite: str) -> ResponseReturnValue:
    if isinstance(outcome, PreparedSubmission):
        return _form_page(suite, checked=outcome)
    if not wants_json():
        return redirect(url_for("suites.show_run", suite=suite, suite_run_id=outcome), 303)
    finish_reading()
    return jsonify(pages.run_facts(pages.suite_run_page(reading(), viewer(), suite, outcome))), 201


def _form_page(
    suite: str, error: LeaderboardError | None = None, *, checked: PreparedSubmission | None = None
) -> str:
    file = received("file")
    return render_template(
        "suites/submit.html",
        page=pages.send_page(reading(), viewer(), suite),
        error=error,
        checked=checked,
        name=file.name if file else "",
        sent=request.form,
        key=secrets.token_urlsafe(16),
        largest=settings().upload_bytes,
    )


TOGETHER, *CHANGES = changes.RUNS
actions.add_to(
    blueprint,
    (sending.SEND, TOGETHER),
    _form_page,
    then={"send_suite_run": _answer, TOGETHER.name: _answer},
    refusals=(LeaderboardError,),
)
actions.add_to(blueprint, CHANGES)
