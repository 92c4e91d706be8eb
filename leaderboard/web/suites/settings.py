"""Making a suite, changing it, taking it off the site and putting it back."""

from collections.abc import Mapping
from typing import Any

from flask import Blueprint, redirect, render_template, request, url_for
from flask.typing import ResponseReturnValue

from leaderboard.errors import Conflict, Forbidden, Invalid, LeaderboardError
from leaderboard.services import policy
from leaderboard.services.suites import changes, drafts, records
from leaderboard.services.suites.drafts import SuiteDraft
from leaderboard.trec.suites.suite_files import GROUPS
from leaderboard.web.errors import form_again, wants_json
from leaderboard.web.rules import SIGNED_IN, rule
from leaderboard.web.session import reading, viewer, writing

blueprint = Blueprint("suite_settings", __name__)


@blueprint.get("/suites/new")
@rule(SIGNED_IN)
def new() -> ResponseReturnValue:
    """The form that makes a suite; for who organises tasks."""
    _require_maker()
    return _form(request.args)


@blueprint.post("/suites")
@rule(SIGNED_IN)
def create() -> ResponseReturnValue:
    """Make a suite."""
    asker = viewer()
    try:
        draft = _draft(request.form.get("slug", "").strip())
        with writing() as session:
            made = changes.create(session, asker, draft)
    except (Conflict, Forbidden, Invalid) as error:
        if wants_json():
            raise
        return form_again(_form(request.form, error=error), error)
    return redirect(url_for("suites.show", suite=made), 303)


@blueprint.get("/suites/<suite>/settings")
@rule(SIGNED_IN)
def show(suite: str) -> ResponseReturnValue:
    """The form that changes a suite."""
    return _change_form(suite)


@blueprint.post("/suites/<suite>/settings")
@rule(SIGNED_IN)
def change(suite: str) -> ResponseReturnValue:
    """Change a suite."""
    asker = viewer()
    try:
        draft = _draft(suite)
        with writing() as session:
            changes.change(session, asker, suite, draft)
    except (Conflict, Invalid) as error:
        if wants_json():
            raise
        return form_again(_change_form(suite, error), error)
    return redirect(url_for("suites.show", suite=suite), 303)


@blueprint.post("/suites/<suite>/withdraw")
@rule(SIGNED_IN)
def withdraw(suite: str) -> ResponseReturnValue:
    """Take a suite off the site."""
    asker = viewer()
    with writing() as session:
        changes.withdraw(session, asker, suite)
    return redirect(url_for("suite_settings.show", suite=suite), 303)


@blueprint.post("/suites/<suite>/restore")
@rule(SIGNED_IN)
def restore(suite: str) -> ResponseReturnValue:
    """Put a suite back on the site."""
    asker = viewer()
    with writing() as session:
        changes.restore(session, asker, suite)
    return redirect(url_for("suites.show", suite=suite), 303)


def _require_maker() -> None:
    asker = viewer()
    if not (asker.organises or asker.operates):
        policy.require_creator(asker)


def _change_form(suite: str, error: LeaderboardError | None = None) -> str:
    known = records.own_suite(reading(), viewer(), suite)
    draft = changes.draft_of(known)
    said = {key: value for key, value in drafts.as_facts(draft).items() if value is not False}
    sent = request.form if error else {**said, "members": drafts.member_lines(draft.members)}
    return _form(sent, suite=suite, error=error, is_shown=known.suite.withdrawn_at is None)


def _form(
    sent: Mapping[str, Any], *, suite: str = "", error: LeaderboardError | None = None, is_shown: bool = True
) -> str:
    return render_template(
        "suites/settings.html", suite=suite, sent=sent, error=error, groups=GROUPS, is_shown=is_shown
    )


def _draft(slug: str) -> SuiteDraft:
    form = request.form
    return SuiteDraft(
        slug=slug,
        title=form.get("title", ""),
        description=form.get("description", ""),
        members=drafts.read_members(form.get("members", "")),
        reference=form.get("reference", "").strip(),
        baseline=form.get("baseline", "").strip(),
        macro=form.get("macro", ""),
        shared_topics="shared_topics" in form,
        missing_is_empty="missing_is_empty" in form,
        metadata_is_required="metadata_is_required" in form,
    )
