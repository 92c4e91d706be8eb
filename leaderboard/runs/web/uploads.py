"""Sending a run: the form, the upload, and the report on it."""

import secrets
import threading
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from flask import Blueprint, jsonify, redirect, render_template, request, url_for
from flask.typing import ResponseReturnValue

from leaderboard.core import kinds
from leaderboard.core.actions import Received
from leaderboard.core.policy import Viewer
from leaderboard.errors import Invalid, LeaderboardError, Problem
from leaderboard.runs.ops import fixing, limits, prepare, uploads, withdrawals
from leaderboard.runs.ops.limits import RunRequest
from leaderboard.runs.ops.prepare import PreparedUpload
from leaderboard.runs.ops.uploads import Delivery, Submission
from leaderboard.runs.page.upload import UploadPage, upload_file, upload_page
from leaderboard.runs.page.upload_form import entered_with, upload_form
from leaderboard.runs.web import batches, files
from leaderboard.runs.web.facts import run_request
from leaderboard.trec.read.bundles import base_name
from leaderboard.trec.read.lines import Limits
from leaderboard.trec.runs.fixes import FIXES
from leaderboard.web import actions
from leaderboard.web.errors import problem_rows, refused, wants_json
from leaderboard.web.rules import SIGNED_IN, Body, form_key, number, received_all, rule
from leaderboard.web.session import reading, settings, viewer, wake, writing

blueprint = Blueprint("uploads", __name__)

CHECKS_AT_ONCE = 3
"""Maximum files checked while their senders wait; the other threads serve pages."""
_turns = threading.BoundedSemaphore(CHECKS_AT_ONCE)


@blueprint.get("/tasks/<slug>/submit")
@rule(SIGNED_IN)
def form(slug: str) -> ResponseReturnValue:
    """The form that submits a run, with the task's rules.

    ?as=RUN copies the entries of an own run, ?again=UPLOAD those of an own upload.
    """
    return _form_page(slug)


def _form_page(slug: str, error: LeaderboardError | None = None) -> str:
    page = upload_form(reading(), viewer(), slug)
    like = next((run for run in page.earlier if str(run.run_id) == request.args.get("as")), None)
    sent: Mapping[str, str] = request.form if request.method == "POST" or like is None else like.values
    if request.method == "GET" and (again := request.args.get("again", type=int)):
        sent = entered_with(reading(), viewer(), slug, again)
    return render_template(
        "runs/upload.html",
        page=page,
        error=error,
        like=like,
        sent=sent,
        says_more=any(sent.get(field.key) for field in page.fields),
        key=secrets.token_urlsafe(16),
        largest=settings().upload_bytes,
        checked=uploads.largest_check(settings(), viewer(), kinds.of(page.of.kind)),
    )


@blueprint.post("/tasks/<slug>/submit")
@rule(SIGNED_IN, Body.UPLOAD)
def send(slug: str) -> ResponseReturnValue:
    """Take a run file: check it now if it is small, else keep it for the evaluator; many are a batch."""
    try:
        task_kind = upload_form(reading(), viewer(), slug).of.kind
        sent = received_all("file")
        if batches.is_batch(sent, task_kind):
            return batches.answer(batches.take(slug, sent, task_kind))
        submission = _submit(slug, sent)
    except LeaderboardError as error:
        return refused(lambda error: _form_page(slug, error), error)
    wake()
    if wants_json():
        return jsonify(_facts(submission)), 422 if submission.state == "rejected" else 201
    if submission.run_id is not None and submission.report is not None and not submission.report.warnings:
        return redirect(url_for("runs.show", run_id=submission.run_id), 303)
    return redirect(url_for("uploads.show", upload_id=submission.upload_id), 303)


def _submit(slug: str, sent: Sequence[Received]) -> Submission:
    team_id = number("team", None)
    missing = [("file", "Choose a run file.")] if not sent else []
    if team_id is None:
        missing.append(("team", "Choose the team that submits the run."))
    if team_id is None or missing:
        raise Invalid(missing[0][1], [Problem(rule, field=field) for field, rule in missing])
    (file,) = sent
    file = replace(file, name=base_name(file.name))
    return deliver(slug, team_id, file, run_request(file.name, file.path), form_key())


def deliver(
    slug: str,
    team_id: int,
    file: Received,
    run_request: RunRequest,
    key: str | None,
    sender: Viewer | None = None,
) -> Submission:
    """Take one run file: it is checked now if it is small, else kept for the evaluator.

    A key seen before gives the submission it made. sender: the viewer, unless another is given.
    """
    sender = sender or viewer()
    prepared, is_checked = _prepared(sender, slug, team_id, file, run_request.phase)
    delivery = Delivery(
        sender=sender, slug=slug, team_id=team_id, file=prepared, run_request=run_request, key=key
    )
    with writing() as session:
        if not is_checked:
            return uploads.receive(session, delivery)
        submission = uploads.submit(session, delivery)
        if submission.state != "rejected":
            limits.count_accepted(session, delivery.sender.account_id, delivery.sender.ip)
        return submission


def _prepared(
    sender: Viewer, slug: str, team_id: int, file: Received, phase: str
) -> tuple[PreparedUpload, bool]:
    """The file, and whether it was checked: not where that takes long, or others are being checked."""
    is_large = prepare.is_large(file.path, settings().inline_bytes)
    if not is_large and _turns.acquire(blocking=False):
        try:
            checked = _checked(sender, slug, team_id, file, phase)
        finally:
            _turns.release()
        if checked is not None:
            return checked, True
    return prepare.unchecked(file.path, file.name), False


def _checked(asker: Viewer, slug: str, team_id: int, file: Received, phase: str) -> PreparedUpload | None:
    """The file checked while its sender waits, outside any transaction.

    None if that takes long, or if too many files of the account or network were rejected.
    """
    rules = limits.rules_for(reading(), asker, slug, team_id, phase)
    with writing() as session:
        if not limits.count_check(session, asker.account_id, asker.ip):
            return None
    checked = prepare.quick(file.path, file.name, rules, Limits(plain_bytes=settings().plain_bytes))
    if checked is None:
        with writing() as session:
            limits.count_accepted(session, asker.account_id, asker.ip)
    return checked


@blueprint.get("/uploads/<id:upload_id>")
@rule(SIGNED_IN)
def show(upload_id: int) -> ResponseReturnValue:
    """The report on an upload; the page reloads itself while the file waits for its check."""
    page = upload_page(reading(), viewer(), upload_id)
    return render_template("runs/uploaded.html", page=page, titles=FIXES)


@blueprint.get("/uploads/<id:upload_id>.json")
@rule(SIGNED_IN)
def show_json(upload_id: int) -> ResponseReturnValue:
    """The report on an upload as JSON."""
    page = upload_page(reading(), viewer(), upload_id)
    facts = _facts(Submission(page.upload.id, page.run_id, page.upload.state, page.report))
    return jsonify({**facts, **_progress(page)})


def _facts(submission: Submission) -> dict[str, Any]:
    report = submission.report
    return {
        "upload": submission.upload_id,
        "run": submission.run_id,
        "state": submission.state,
        "problems": problem_rows(report.problems).facts() if report else [],
        "warnings": problem_rows(report.warnings).facts() if report else [],
        "fixes": list(report.fixes) if report else [],
    }


def _progress(page: UploadPage) -> dict[str, Any]:
    return {
        "task": page.slug,
        "name": page.name,
        "file": page.upload.file_name,
        "sha256": page.upload.sha256,
        "check": page.progress.state,
        "position": page.progress.position,
        "message": page.progress.message,
    }


@blueprint.get("/uploads/<id:upload_id>/file")
@rule(SIGNED_IN)
def file(upload_id: int) -> ResponseReturnValue:
    """The file of an upload, as submitted or fixed, while it is kept."""
    return files.answer(upload_file(reading(), viewer(), upload_id))


def _new(submission: Submission, **_: object) -> ResponseReturnValue:
    if wants_json():
        return jsonify(_facts(submission)), 202
    return redirect(url_for("uploads.show", upload_id=submission.upload_id), 303)


actions.add_to(blueprint, (fixing.FIX, *withdrawals.ACTIONS, withdrawals.REVIEW), then={"fix_upload": _new})
