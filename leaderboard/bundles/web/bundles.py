"""A whole task as one archive: all of it for its organisers, and the public part for others."""

import hashlib
import os
import tempfile
import threading
from collections.abc import Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from datetime import timedelta
from typing import IO

from flask import Blueprint, Response
from flask.typing import ResponseReturnValue

from leaderboard.bundles import page as bundles
from leaderboard.bundles.ops.describing import NO_TIME, archived
from leaderboard.core import policy, throttles
from leaderboard.runs.ops.prepare import CHUNK_BYTES
from leaderboard.web.http import own_origin
from leaderboard.web.rules import PUBLIC, SIGNED_IN, require_room, rule
from leaderboard.web.session import (
    applied,
    database,
    finish_reading,
    hands_out_judgments,
    reading,
    settings,
    viewer,
)

blueprint = Blueprint("bundles", __name__)

AN_HOUR = 20
"""Exports that an account may request per hour: each reads all of a task."""
AT_ONCE = 2
_turns = threading.BoundedSemaphore(AT_ONCE)
# Of their own: however many visitors ask, organisers get their exports.
_public_turns = threading.BoundedSemaphore(AT_ONCE)


@blueprint.get("/tasks/<slug>/export.zip")
@rule(SIGNED_IN)
@hands_out_judgments
def export(slug: str) -> ResponseReturnValue:
    """The whole task as plain files; it is completely written before the first byte is sent."""
    return whole(slug)


def whole(slug: str) -> Response:
    """The whole task as a zip, for its organisers; raises OverQuota and Busy where there were too many."""
    asker = viewer()
    policy.own_task(reading(), asker, slug)
    with database().write(is_shown=False) as session:
        hour = timedelta(hours=1)
        throttles.spend(session, f"export {asker.account_id}", AN_HOUR, hour, "Too many exports")
    with _made() as file:
        bundles.export(database(), asker, slug, archived(file, is_zip=True), site=own_origin())
    response = _as_zip(file, slug)
    response.cache_control.no_store = True
    return response


@blueprint.get("/tasks/<slug>/task.zip")
@rule(PUBLIC, is_computed=True)
def public(slug: str) -> ResponseReturnValue:
    """The public data of a task as plain files, once none of it is hidden."""
    finish_reading()
    with _made(_public_turns) as file:
        writer = archived(file, is_zip=True, at=NO_TIME)
        bundles.export_public(database(), slug, writer, site=own_origin())
    digest = hashlib.sha256()
    file.seek(0)
    while piece := file.read(CHUNK_BYTES):
        digest.update(piece)
    response = _as_zip(file, slug)
    response.set_etag(digest.hexdigest()[:32])
    response.cache_control.no_cache = True
    return applied(response)


@contextmanager
def _made(turns: threading.Semaphore = _turns) -> Iterator[IO[bytes]]:
    """A file to write an export into, which stays open where all went well.

    On the disk, not in memory; without a name, so that nothing remains of it in any case.
    """
    require_room(settings(), 0)
    with _turn(turns), ExitStack() as stack:
        file = stack.enter_context(tempfile.TemporaryFile(dir=tempfile.gettempdir()))
        yield file
        stack.pop_all()


def _as_zip(file: IO[bytes], slug: str) -> Response:
    size = file.seek(0, os.SEEK_END)
    response = Response(_pieces(file), content_type="application/zip")
    response.call_on_close(file.close)
    response.headers.set("Content-Disposition", "attachment", filename=f"{slug}.zip")
    response.content_length = size
    return response


def _turn(turns: threading.Semaphore = _turns) -> AbstractContextManager[None]:
    """One of the few exports that are made at a time: each holds a thread for as long as it takes."""
    return throttles.turn(turns, "Other exports are in progress. Try again in a minute.", 60)


def _pieces(file: IO[bytes]) -> Iterator[bytes]:
    """The file from its beginning; closed at the end, or if the client stops reading."""
    with file:
        file.seek(0)
        while piece := file.read(CHUNK_BYTES):
            yield piece
