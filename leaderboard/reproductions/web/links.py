"""The form that sets or removes the reproduced run, for its team and the organisers."""

from collections.abc import Mapping

from flask import Blueprint, render_template
from flask.typing import ResponseReturnValue

from leaderboard import fields
from leaderboard.errors import LeaderboardError
from leaderboard.reproductions import ops as reproductions
from leaderboard.reproductions.ops import OriginalRuns
from leaderboard.scoring.ops import run_facts as facts
from leaderboard.web import actions
from leaderboard.web.rules import SIGNED_IN, rule
from leaderboard.web.session import reading, viewer

blueprint = Blueprint("reproduction_links", __name__)

OF_UPLOAD = "reproduces-"
"""Prefix of these field names in the form that submits a run."""


@blueprint.get("/runs/<id:run_id>/reproduces")
@rule(SIGNED_IN)
def form(run_id: int) -> ResponseReturnValue:
    """The form that sets the reproduced run."""
    return _page(run_id)


def _page(run_id: int, error: LeaderboardError | None = None) -> str:
    linked = reproductions.originals_of(reading(), viewer(), run_id)
    return render_template(
        "reproductions/form.html",
        page=facts.description_page(reading(), viewer(), run_id),
        is_linked=linked is not None,
        about=actions.form(OriginalRuns, error, fields.texts(linked) if linked else None),
        error=error,
    )


actions.add_to(blueprint, reproductions.ACTIONS, _page)


def of_upload(form: Mapping[str, str]) -> dict[str, dict[str, int]]:
    """The reproduced run from the form that submits a run; empty if it names none."""
    typed = {each.name: form.get(OF_UPLOAD + each.name, "") for each in fields.of(OriginalRuns)}
    return (
        {"reproduces": fields.read(OriginalRuns, typed).named} if any(map(str.strip, typed.values())) else {}
    )
