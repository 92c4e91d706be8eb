"""The form that edits the description of a run."""

from flask import Blueprint, jsonify, render_template, request
from flask.typing import ResponseReturnValue

from leaderboard.errors import LeaderboardError
from leaderboard.scoring.ops import run_facts as run_descriptions
from leaderboard.web import actions
from leaderboard.web.errors import wants_json
from leaderboard.web.rules import SIGNED_IN, rule
from leaderboard.web.session import reading, viewer

blueprint = Blueprint("run_facts", __name__)


@blueprint.get("/runs/<id:run_id>/facts")
@rule(SIGNED_IN)
def form(run_id: int) -> ResponseReturnValue:
    """The description of the run, for its team and the task's organisers to edit."""
    return _page(run_id)


def _page(run_id: int, error: LeaderboardError | None = None) -> str:
    page = run_descriptions.description_page(reading(), viewer(), run_id)
    typed = request.form if error else {**page.values, "description": page.description}
    return render_template("runs/facts.html", page=page, error=error, values=typed)


def _changed(changed: tuple[str, ...], run_id: int) -> ResponseReturnValue | None:
    return jsonify({"run": run_id, "changed": list(changed)}) if wants_json() else None


actions.add_to(blueprint, (run_descriptions.DESCRIBE,), _page, then={"describe_run": _changed})
