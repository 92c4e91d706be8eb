"""A run's files: as submitted, and its scores as trec_eval prints them."""

import threading
from collections.abc import Iterator
from contextlib import ExitStack
from typing import IO

from flask import Blueprint, Response, request
from flask.typing import ResponseReturnValue

from leaderboard.checksums import belonging_to
from leaderboard.core import throttles
from leaderboard.runs.ops.fixing import StoredFile
from leaderboard.runs.ops.prepare import CHUNK_BYTES
from leaderboard.runs.page import upload
from leaderboard.runs.page.upload import SentFile
from leaderboard.web import http, session
from leaderboard.web.rules import PUBLIC, rule
from leaderboard.web.session import database, reading, viewer

blueprint = Blueprint("run_files", __name__)

LARGE = 2**24
"""Answer size in bytes that the server buffers; a larger file keeps a thread busy until it is downloaded."""
LARGE_AT_ONCE = 4
_turns = threading.BoundedSemaphore(LARGE_AT_ONCE)


@blueprint.get("/runs/<id:run_id>/file")
@rule(PUBLIC)
def file(run_id: int) -> ResponseReturnValue:
    """The file as submitted, for whom it is open; its digest is compared before the first byte is sent."""
    return answer(upload.sent_file(reading(), viewer(), run_id))


def answer(sent: SentFile) -> Response:
    """A stored file as an answer."""
    of = f"run {sent.run_id}" if sent.run_id is not None else f"upload {sent.upload_id}"
    stored = StoredFile(database(), sent.upload_id)
    with ExitStack() as stack:
        if sent.size > LARGE:
            busy = "Other large files are being downloaded now. Try again in a minute."
            stack.enter_context(throttles.turn(_turns, busy, 60))
        with belonging_to(of):
            file = stack.enter_context(stored.whole(sent.sha256))
        response = Response(_pieces(file), content_type=sent.media_type)
        response.call_on_close(stack.pop_all().close)
    response.headers.set("Content-Disposition", "attachment", filename=sent.name)
    response.content_length = sent.size
    response.set_etag(sent.sha256)
    response.cache_control.no_cache = True
    return session.applied(response)


@blueprint.get("/runs/<id:run_id>.trec_eval")
@rule(PUBLIC)
def trec_eval(run_id: int) -> ResponseReturnValue:
    """Scores by topic and over all, as trec_eval prints them: the board's measures, or all of its own."""
    text = upload.trec_eval_text(reading(), viewer(), run_id, all_trec="all_trec" in request.args)
    # Topic ids and tags go out as the bytes they came in as, UTF-8 or not.
    return http.as_stored(text.encode("utf-8", "surrogateescape"), "text/plain")


def _pieces(file: IO[bytes]) -> Iterator[bytes]:
    with file:
        while piece := file.read(CHUNK_BYTES):
            yield piece
