"""The state of the site for a load balancer or an alarm."""

from dataclasses import asdict

from flask import Blueprint, jsonify
from flask.typing import ResponseReturnValue

from leaderboard.services.jobs.health import health
from leaderboard.web.rules import PUBLIC, rule
from leaderboard.web.session import reading

blueprint = Blueprint("health", __name__)


@blueprint.get("/healthz")
@rule(PUBLIC)
def show() -> ResponseReturnValue:
    """The queue as JSON; the error handler answers 503 where the database does not."""
    response = jsonify({"database": "ok", **asdict(health(reading()))})
    response.headers["Cache-Control"] = "no-store"
    return response
