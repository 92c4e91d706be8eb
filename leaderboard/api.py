"""The API under /api/v1: a table of operations, each of which calls one page or service.

A program asks by a token; cookies mean nothing here. Answers are JSON or files, never pages or redirects.
"""

from itertools import chain

from flask import Blueprint, Flask

from leaderboard import reference
from leaderboard.runs.api import partial_uploads
from leaderboard.web.api import operations, problems
from leaderboard.web.session import API


def register(app: Flask) -> None:
    """Add every operation, its document and its reference to an application."""
    blueprint = Blueprint("api", __name__, url_prefix=API)
    operations.add_to(blueprint, chain.from_iterable(reference.by_heading().values()))
    blueprint.after_request(partial_uploads.say_protocol)
    app.register_blueprint(blueprint)
    app.register_blueprint(reference.blueprint)
    app.after_request(problems.as_answer_of_the_api)
