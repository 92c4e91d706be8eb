"""The state of the site for a load balancer or an alarm."""

import logging
from dataclasses import asdict
from typing import Any

from flask import Blueprint, Response, jsonify
from flask.typing import ResponseReturnValue
from sqlalchemy.exc import SQLAlchemyError

from leaderboard.core.audit import backup_age_s
from leaderboard.core.jobs.health import JobHealth, health
from leaderboard.errors import NoRoom
from leaderboard.settings import is_loopback
from leaderboard.web.rules import PUBLIC, require_room, rule
from leaderboard.web.session import client_ip, database, finish_reading, reading, settings, site, viewer

log = logging.getLogger(__name__)
blueprint = Blueprint("health", __name__)

RETRY_S = 30
NO_ROOM = "Too little disk space is left, so files are refused."


@blueprint.get("/healthz")
@rule(PUBLIC)
def show() -> ResponseReturnValue:
    """200 while a submitted run would be accepted and scored, else 503 with the reason.

    The queue and the evaluators are shown to local clients and to organisers only: from outside, the
    counts would show how busy a sealed task is.
    """
    probe = site().probe
    try:
        state = health(reading())
        counts = _counts(state)
        finish_reading()
        return _answer(_disk() or probe.problem(database()) or state.problem(probe.up_s), counts)
    except SQLAlchemyError as error:
        log.warning("the database does not answer: %s", error)
        return _answer("The database does not answer.", {})


def _disk() -> str:
    try:
        require_room(settings(), 0)
    except NoRoom:
        return NO_ROOM
    return ""


def _counts(state: JobHealth) -> dict[str, Any]:
    if not is_loopback(client_ip()) and not viewer().is_organiser:
        return {}
    return {**asdict(state), "backup_age_s": backup_age_s(reading())}


def _answer(problem: str, counts: dict[str, Any]) -> Response:
    state = {"status": "unavailable", "reason": problem} if problem else {"status": "ok"}
    response = jsonify(state | counts)
    response.headers["Cache-Control"] = "no-store"
    if problem:
        response.status_code = 503
        response.headers["Retry-After"] = str(RETRY_S)
    return response
