"""Sending a run: the form, the upload, and the report on it."""

import secrets
from collections.abc import Mapping
from typing import Any

from flask import Blueprint, jsonify, redirect, render_template, request, url_for
from flask.typing import ResponseReturnValue

from leaderboard.core import kinds, policy
from leaderboard.errors import LeaderboardError
from leaderboard.runs.ops import fixing, uploads, withdrawals
from leaderboard.runs.ops.uploads import Delivery, Submission
from leaderboard.runs.page.upload import UploadPage, upload_file, upload_page
from leaderboard.runs.page.upload_form import entered_with, upload_form
from leaderboard.runs.web import batches, files
from leaderboard.trec.runs.fixes import FIXES
from leaderboard.web import actions
from leaderboard.web.errors import problem_rows, refused, wants_json
from leaderboard.web.rules import SIGNED_IN, received_all, rule
from leaderboard.web.session import reading, settings, viewer

blueprint = Blueprint("uploads", __name__)


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


def _batch(slug: str) -> ResponseReturnValue | None:
    """The answer to a form that sends many files."""
    try:
        task, _ = policy.visible_task(reading(), viewer(), slug)
        files, kind = received_all("file"), task.kind
        return batches.answer(batches.take(slug, files, kind)) if batches.is_batch(files, kind) else None
    except LeaderboardError as error:
        return refused(lambda error: _form_page(slug, error), error)


def _sent(sent: tuple[Delivery, Submission], slug: str) -> ResponseReturnValue:
    _, submission = sent
    if wants_json():
        return jsonify(_facts(submission)), 422 if submission.state == "rejected" else 201
    if submission.run_id is not None and submission.report is not None and not submission.report.warnings:
        return redirect(url_for("runs.show", run_id=submission.run_id), 303)
    return redirect(url_for("uploads.show", upload_id=submission.upload_id), 303)


actions.add_to(
    blueprint,
    (uploads.SEND,),
    _form_page,
    then={"send_run": _sent},
    before={"send_run": _batch},
    refusals=(LeaderboardError,),
)


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
