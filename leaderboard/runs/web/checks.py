"""Check only: the report of a task on a file, for anyone, without submitting it."""

import threading
from pathlib import Path

from flask import Blueprint, jsonify, render_template, request
from flask.typing import ResponseReturnValue

from leaderboard.core import kinds
from leaderboard.core.kinds import RunKind, UploadRules
from leaderboard.errors import Busy, Invalid, Problem
from leaderboard.runs.ops import limits, prepare
from leaderboard.runs.page.upload import check_form, sample_run
from leaderboard.trec.read.lines import Limits
from leaderboard.trec.runs.check import Report
from leaderboard.trec.runs.fixes import FIXES
from leaderboard.web import http
from leaderboard.web.errors import problem_rows, wants_json
from leaderboard.web.rules import PUBLIC, Body, received, rule
from leaderboard.web.session import finish_reading, reading, settings, viewer, writing

blueprint = Blueprint("checks", __name__)

AT_ONCE = 2
"""Maximum check-only files at a time; submissions and pages take precedence."""
_turns = threading.BoundedSemaphore(AT_ONCE)


@blueprint.get("/tasks/<slug>/check")
@rule(PUBLIC)
def form(slug: str) -> ResponseReturnValue:
    """The form that checks a file without sending it."""
    return _page(slug)


@blueprint.post("/tasks/<slug>/check")
@rule(PUBLIC, Body.CHECK)
def check(slug: str) -> ResponseReturnValue:
    """The report on a file; the file is not kept."""
    file, phase = received("file"), request.form.get("phase", viewer().phase)
    if file is None:
        limits.public_rules(reading(), viewer(), slug, phase)
        raise Invalid("Choose a run file.")
    report = checked(slug, phase, file.path)
    if wants_json():
        return jsonify(
            {
                "state": report.verdict,
                "problems": problem_rows(report.problems).facts(),
                "warnings": problem_rows(report.warnings).facts(),
                "fixes": list(report.fixes),
            }
        )
    return _page(slug, file.name, report)


@blueprint.get("/tasks/<slug>/sample-run")
@rule(PUBLIC)
def sample(slug: str) -> ResponseReturnValue:
    """A file that the task accepts, to start from."""
    return http.as_file(sample_run(reading(), viewer(), slug), "text/plain", f"{slug}-sample-run.txt")


def checked(slug: str, phase: str, path: Path) -> Report:
    """The report on a file by the rules for submitting it now, counted towards the check-only limits."""
    asker = viewer()
    rules = limits.public_rules(reading(), asker, slug, phase, path.stat().st_size)
    finish_reading()
    with writing() as session:
        limits.count_check_only(session, asker.account_id, asker.ip)
    return _report(path, rules)


def _report(path: Path, rules: UploadRules) -> Report:
    if not _turns.acquire(blocking=False):
        raise Busy("Other files are being checked right now. Try again in a few seconds.", retry_after_s=5)
    try:
        most = largest(rules.kind)
        if prepare.is_large(path, most):
            return _too_large(most)
        return prepare.check_only(path, rules, Limits(plain_bytes=most)) or _too_large(most)
    finally:
        _turns.release()


def largest(kind: RunKind) -> int:
    """Bytes of the largest plain file that the viewer may have checked.

    A ranking of 11 MB takes 0.03 s of processor, or 4 s if it is wrong in every topic; answers take 7 s.
    """
    here = settings()
    is_more = kind.ranks_documents and viewer().account_id is not None
    return max(here.inline_bytes, here.check_bytes) if is_more else here.inline_bytes


def _too_large(most: int) -> Report:
    rule = f"The file is too large to check here; the limit is {most:,} bytes."
    remedy = "Check it on your own machine with `leaderboard check`, or submit it."
    return Report((Problem(rule, remedy),))


def _page(slug: str, name: str = "", report: Report | None = None) -> str:
    page = check_form(reading(), viewer(), slug)
    return render_template(
        "runs/check.html",
        page=page,
        name=name,
        report=report,
        titles=FIXES,
        largest=largest(kinds.of(page.of.kind)),
    )
