"""The public halves of the site's keys, where readers expect them."""

from flask import Blueprint, Response

from leaderboard.signatures import ops as signatures
from leaderboard.web import http
from leaderboard.web.rules import PUBLIC, rule
from leaderboard.web.session import reading

blueprint = Blueprint("signatures", __name__)


@blueprint.get(signatures.ADDRESS)
@rule(PUBLIC)
def keys() -> Response:
    """The keys that the site signs and signed with."""
    return http.as_stored(signatures.keys_text(signatures.keys(reading())), "application/json")
