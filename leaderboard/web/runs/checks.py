"""Check only: what a task would say to a file, for anybody, without sending it."""

import threading
from pathlib import Path

from flask import Blueprint, jsonify, render_template
from flask.typing import ResponseReturnValue

from leaderboard.errors import Busy, Invalid, Problem
from leaderboard.pages.runs.upload import check_form
from leaderboard.services.kinds import UploadRules
from leaderboard.services.runs import limits, prepare
from leaderboard.trec.read.lines import Limits
from leaderboard.trec.runs.check import Report
from leaderboard.trec.runs.fixes import FIXES
from leaderboard.web.errors import problem_rows, wants_json
from leaderboard.web.files import received
from leaderboard.web.rules import PUBLIC, Body, rule
from leaderboard.web.session import finish_reading, reading, settings, viewer, writing

blueprint = Blueprint("checks", __name__)

AT_ONCE = 2
"""Files checked at a time for people who send nothing: senders and pages come first."""
_turns = threading.BoundedSemaphore(AT_ONCE)


@blueprint.get("/tasks/<slug>/check")
@rule(PUBLIC)
def form(slug: str) -> ResponseReturnValue:
    """The form that checks a file without sending it."""
    return _page(slug)


@blueprint.post("/tasks/<slug>/check")
@rule(PUBLIC, Body.CHECK)
def check(slug: str) -> ResponseReturnValue:
    """The report on a file, of which nothing is kept."""
    rules = limits.public_rules(reading(), viewer(), slug)
    file = received("file")
    if file is None:
        raise Invalid("Choose a run file.")
    report = checked(file.path, rules)
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


def checked(path: Path, rules: UploadRules) -> Report:
    """The report on a file, counted against those who have many checked."""
    asker = viewer()
    finish_reading()
    with writing() as session:
        limits.count_check_only(session, asker.account_id, asker.ip)
    return _report(path, rules)


def _report(path: Path, rules: UploadRules) -> Report:
    if not _turns.acquire(blocking=False):
        raise Busy("Other files are being checked just now; try again in a few seconds.", retry_after_s=5)
    try:
        here = settings()
        if prepare.is_large(path, here.inline_bytes):
            return _too_large()
        return prepare.check_only(path, rules, Limits(plain_bytes=here.inline_bytes)) or _too_large()
    finally:
        _turns.release()


def _too_large() -> Report:
    rule = f"The file is too large to be checked here, where {settings().inline_bytes:,} bytes are read."
    remedy = "Check it on your own machine with `leaderboard check`, or send it."
    return Report((Problem(rule, remedy),))


def _page(slug: str, name: str = "", report: Report | None = None) -> str:
    page = check_form(reading(), viewer(), slug)
    return render_template(
        "runs/check.html", page=page, name=name, report=report, titles=FIXES, largest=settings().inline_bytes
    )
