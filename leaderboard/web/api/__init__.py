"""The API under /api/v1: a table of operations, each of which calls one page or service.

A program asks by a token; cookies mean nothing here. Answers are JSON or files, never pages or redirects.
"""

from flask import Blueprint, Flask

from leaderboard.web.api import (
    account,
    devices,
    judging,
    operations,
    partial_uploads,
    problems,
    reference,
    runs,
    tasks,
    teams,
    uploads,
)
from leaderboard.web.api.organise import (
    assessors,
    clicks,
    names,
    people,
    phases,
    pools,
    revisions,
    side_by_side,
    topics,
)
from leaderboard.web.api.organise import tasks as own_tasks
from leaderboard.web.session import API

NOUNS = (
    tasks,
    runs,
    uploads,
    partial_uploads,
    teams,
    own_tasks,
    topics,
    phases,
    people,
    names,
    revisions,
    pools,
    assessors,
    clicks,
    side_by_side,
    judging,
    account,
    devices,
)
"""The modules whose operations there are, in the order of the reference."""


def register(app: Flask) -> None:
    """Add every operation, its document and its reference to an application."""
    blueprint = Blueprint("api", __name__, url_prefix=API)
    operations.add_to(blueprint, [operation for noun in NOUNS for operation in noun.OPERATIONS])
    blueprint.after_request(partial_uploads.say_protocol)
    app.register_blueprint(blueprint)
    app.register_blueprint(reference.blueprint)
    app.after_request(problems.as_answer_of_the_api)
