"""Suite runs: submit an archive, combine existing runs, withdraw and restore."""

import secrets
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from flask import Blueprint, jsonify, redirect, render_template, request, url_for
from flask.typing import ResponseReturnValue
from sqlalchemy.orm import Session

from leaderboard.core.actions import Received
from leaderboard.errors import Busy, Invalid, LeaderboardError
from leaderboard.runs.ops import limits
from leaderboard.runs.web.facts import facts_given
from leaderboard.scoring.ops import run_facts as facts
from leaderboard.suites import page as pages
from leaderboard.suites.ops import changes, sending
from leaderboard.suites.ops.sending import PreparedSubmission, SuiteRequest
from leaderboard.trec import facts as facts_files
from leaderboard.trec.read.lines import Limits
from leaderboard.web import actions
from leaderboard.web.errors import refused, wants_json
from leaderboard.web.http import incoming_folder
from leaderboard.web.rules import SIGNED_IN, Body, form_key, number, received, rule
from leaderboard.web.session import finish_reading, reading, settings, viewer, wake, writing

blueprint = Blueprint("suite_sending", __name__)

AT_ONCE = 1
"""Maximum archives checked at a time: each has one file per member."""
_turns = threading.BoundedSemaphore(AT_ONCE)


@blueprint.get("/suites/<suite>/submit")
@rule(SIGNED_IN)
def form(suite: str) -> ResponseReturnValue:
    """The form that submits a suite run."""
    return _form_page(suite)


@blueprint.post("/suites/<suite>/submit")
@rule(SIGNED_IN, Body.UPLOAD)
def send(suite: str) -> ResponseReturnValue:
    """Accept an archive, or only preview the result."""
    try:
        file = received("file")
        if file is None:
            raise Invalid("Choose a zip or tar with one folder per member.")
        wished = _wished()
        if "check" in request.form:
            return _form_page(suite, checked=check(suite, wished.team_id, file), name=file.name)
        made = deliver(suite, file, wished, form_key())
    except LeaderboardError as error:
        return refused(lambda error: _form_page(suite, error), error)
    return _answer(suite, made)


TOGETHER, *CHANGES = changes.RUNS
actions.add_to(
    blueprint,
    (TOGETHER,),
    lambda suite, error: _form_page(suite, error),
    then={TOGETHER.name: lambda number, suite: _answer(suite, number)},
    refusals=(LeaderboardError,),
)
actions.add_to(blueprint, CHANGES)


def check(suite: str, team_id: int, file: Received) -> PreparedSubmission:
    """The report on an archive that is not kept; counted as a check-only file."""
    return _prepared(suite, team_id, file, limits.count_check_only)


def deliver(suite: str, file: Received, wished: SuiteRequest, key: str | None) -> int:
    """Check an archive and store all of it or nothing; the id of the suite run.

    It counts as one rejected file until it is accepted. Raises Invalid with every problem, Busy while
    another archive is checked.
    """
    asker = viewer()
    submission = _prepared(suite, wished.team_id, file, _count)
    with writing() as session:
        made = sending.send(session, asker, suite, submission, wished, key)
        limits.count_accepted(session, asker.account_id, asker.ip)
    wake()
    return made


def _count(session: Session, account_id: int | None, ip: str) -> None:
    """Count an archive before it is checked; raises OverQuota for a minute after too many rejected ones."""
    if not limits.count_check(session, account_id, ip):
        limits.take_turn(session, account_id)


def _prepared(
    suite: str, team_id: int, file: Received, count: Callable[[Session, int | None, str], None]
) -> PreparedSubmission:
    asker = viewer()
    rules = sending.rules_of(reading(), asker, suite, team_id)
    finish_reading()
    with _turn() as folder:
        with writing() as session:
            count(session, asker.account_id, asker.ip)
        return sending.prepared(
            file.path, file.name, rules, folder, Limits(plain_bytes=settings().plain_bytes)
        )


@contextmanager
def _turn() -> Iterator[Path]:
    if not _turns.acquire(blocking=False):
        raise Busy("Another suite run is being checked now. Try again in a minute.", retry_after_s=60)
    try:
        yield incoming_folder()
    finally:
        _turns.release()


def _wished() -> SuiteRequest:
    return SuiteRequest(
        team_id=_team(),
        name=request.form.get("name", "").strip(),
        kind=request.form.get("kind", "official"),
        description=facts.require_short(request.form.get("description", "")),
        facts=facts_files.read_fact_fields(facts_given()),
    )


def _team() -> int:
    team_id = number("team", None)
    if team_id is None:
        raise Invalid("Choose the team that submits the run.")
    return team_id


def _answer(suite: str, made: int) -> ResponseReturnValue:
    if not wants_json():
        return _to_run(suite, made)
    finish_reading()
    return jsonify(pages.run_facts(pages.suite_run_page(reading(), viewer(), suite, made))), 201


def _to_run(suite: str, suite_run_id: int) -> ResponseReturnValue:
    return redirect(url_for("suites.show_run", suite=suite, suite_run_id=suite_run_id), 303)


def _form_page(
    suite: str,
    error: LeaderboardError | None = None,
    *,
    checked: PreparedSubmission | None = None,
    name: str = "",
) -> str:
    return render_template(
        "suites/submit.html",
        page=pages.send_page(reading(), viewer(), suite),
        error=error,
        checked=checked,
        name=name,
        sent=request.form,
        key=secrets.token_urlsafe(16),
        largest=settings().upload_bytes,
    )
