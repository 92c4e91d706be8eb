"""Check only: the report of a task on a file, for anyone, without submitting it."""

from flask import Blueprint, jsonify, render_template
from flask.typing import ResponseReturnValue

from leaderboard.core import kinds
from leaderboard.runs.ops import uploads
from leaderboard.runs.page.upload import check_form, sample_run
from leaderboard.trec.runs.check import Report
from leaderboard.trec.runs.fixes import FIXES
from leaderboard.web import actions, http
from leaderboard.web.errors import problem_rows, wants_json
from leaderboard.web.rules import PUBLIC, received, rule
from leaderboard.web.session import reading, settings, viewer

blueprint = Blueprint("checks", __name__)


@blueprint.get("/tasks/<slug>/check")
@rule(PUBLIC)
def form(slug: str) -> ResponseReturnValue:
    """The form that checks a file without sending it."""
    return _page(slug)


@blueprint.get("/tasks/<slug>/sample-run")
@rule(PUBLIC)
def sample(slug: str) -> ResponseReturnValue:
    """A file that the task accepts, to start from."""
    return http.as_file(sample_run(reading(), viewer(), slug), "text/plain", f"{slug}-sample-run.txt")


def _page(slug: str, report: Report | None = None) -> str:
    page, file = check_form(reading(), viewer(), slug), received("file")
    return render_template(
        "runs/check.html",
        page=page,
        name=file.name if file else "",
        report=report,
        titles=FIXES,
        largest=uploads.largest_check(settings(), viewer(), kinds.of(page.of.kind)),
    )


def _checked(report: Report, slug: str) -> ResponseReturnValue:
    if not wants_json():
        return _page(slug, report)
    problems, warnings = (problem_rows(rows).facts() for rows in (report.problems, report.warnings))
    return jsonify(
        {"state": report.verdict, "problems": problems, "warnings": warnings, "fixes": list(report.fixes)}
    )


actions.add_to(blueprint, (uploads.CHECK,), then={"check_run": _checked})
