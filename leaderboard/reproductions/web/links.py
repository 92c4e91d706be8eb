"""The form that sets or removes the reproduced run, for its team and the organisers."""

from collections.abc import Mapping
from typing import Any

from flask import Blueprint, redirect, render_template, request, url_for
from flask.typing import ResponseReturnValue

from leaderboard.errors import Invalid, Problem
from leaderboard.reproductions import ops as reproductions
from leaderboard.reproductions.ops import OriginalRuns
from leaderboard.scoring.ops import run_facts as facts
from leaderboard.web.addresses import whole
from leaderboard.web.errors import status_of
from leaderboard.web.rules import SIGNED_IN, rule
from leaderboard.web.session import reading, viewer, wake, writing

blueprint = Blueprint("reproduction_links", __name__)

NAMES = {"original": "Reproduces run", "original_baseline": "Original baseline", "baseline": "Baseline here"}
"""Field of the form -> its label in errors."""
OF_UPLOAD = "reproduces-"
"""Prefix of these field names in the form that submits a run."""


@blueprint.get("/runs/<id:run_id>/reproduces")
@rule(SIGNED_IN)
def form(run_id: int) -> ResponseReturnValue:
    """The form that sets the reproduced run."""
    original_runs = reproductions.originals_of(reading(), viewer(), run_id)
    return _page(run_id, {} if original_runs is None else original_runs.named)


@blueprint.post("/runs/<id:run_id>/reproduces")
@rule(SIGNED_IN)
def save(run_id: int) -> ResponseReturnValue:
    """Say what the run reproduces; without an original, remove it."""
    asker = viewer()
    try:
        of = given(request.form)
        with writing() as session:
            if of is not None:
                reproductions.link(session, asker, run_id, of)
            elif reproductions.originals_of(session, asker, run_id) is not None:
                reproductions.unlink(session, asker, run_id)
    except Invalid as error:
        return _page(run_id, request.form, error), status_of(error)
    wake()
    return redirect(url_for("runs.show", run_id=run_id), 303)


def given(fields: Mapping[str, str], prefix: str = "") -> OriginalRuns | None:
    """The original and baselines from a form; None if it names no run.

    A run is given by its number or the address of its page. Raises Invalid for anything else, and for
    baselines without an original.
    """
    typed = {name: fields.get(prefix + name, "").strip() for name in NAMES}
    if not any(typed.values()):
        return None
    if not typed["original"]:
        problem = Problem(
            "is missing.", "Name the run, or leave all three fields empty.", field=NAMES["original"]
        )
        raise Invalid("A baseline alone does not make a reproduction.", [problem])
    return OriginalRuns(**{name: _number(name, text) for name, text in typed.items() if text})


def of_upload(fields: Mapping[str, str]) -> dict[str, dict[str, int]]:
    """The reproduced run from the form that submits a run."""
    of = given(fields, OF_UPLOAD)
    return {"reproduces": of.named} if of else {}


def _number(name: str, text: str) -> int:
    number = whole(text.rstrip("/").rpartition("/")[2])
    if number is None:
        rule = "must be the number of a run or the address of its page."
        problem = Problem(rule, "For example 12, or …/runs/12.", field=NAMES[name], value=text[:80])
        raise Invalid("The field does not name a run.", [problem])
    return number


def _page(run_id: int, values: Mapping[str, Any], error: Invalid | None = None) -> str:
    page = facts.description_page(reading(), viewer(), run_id)
    return render_template("reproductions/form.html", page=page, values=values, error=error)
