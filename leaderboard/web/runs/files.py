"""A run's files: as it was sent, and its scores as trec_eval prints them."""

from collections.abc import Iterator

from flask import Blueprint, Response, request
from flask.typing import ResponseReturnValue

from leaderboard.pages.runs import files
from leaderboard.services.runs.files import StoredFile
from leaderboard.services.runs.prepare import CHUNK_BYTES
from leaderboard.web import responses
from leaderboard.web.rules import PUBLIC, rule
from leaderboard.web.session import database, reading, viewer

blueprint = Blueprint("run_files", __name__)


@blueprint.get("/runs/<id:run_id>/file")
@rule(PUBLIC)
def file(run_id: int) -> ResponseReturnValue:
    """The file as it was sent, for whom it is open."""
    sent = files.sent_file(reading(), viewer(), run_id)
    response = Response(_pieces(StoredFile(database(), sent.upload_id)), content_type=sent.media_type)
    response.headers.set("Content-Disposition", "attachment", filename=sent.name)
    response.content_length = sent.size
    response.set_etag(sent.sha256)
    response.cache_control.no_cache = True
    return response.make_conditional(request)


@blueprint.get("/runs/<id:run_id>.trec_eval")
@rule(PUBLIC)
def trec_eval(run_id: int) -> ResponseReturnValue:
    """Scores by topic and over all, as trec_eval prints them: the board's measures, or all of its own."""
    text = files.trec_eval_text(reading(), viewer(), run_id, all_trec="all_trec" in request.args)
    # Topic ids and tags go out as the bytes they came in as, UTF-8 or not.
    return responses.as_stored(text.encode("utf-8", "surrogateescape"), "text/plain")


def _pieces(stored: StoredFile) -> Iterator[bytes]:
    with stored.open() as sent:
        while piece := sent.read(CHUNK_BYTES):
            yield piece
