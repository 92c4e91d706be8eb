"""Run files that come in pieces: what the API and the upload form share, and the form's own addresses.

The form sends large files so where scripts run, and then itself with their numbers in place of the files.
"""

import shutil
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import IO, Any

from flask import Blueprint, jsonify, redirect, request, url_for
from flask.typing import ResponseReturnValue
from werkzeug.exceptions import UnsupportedMediaType

from leaderboard.errors import Conflict, Invalid, Problem, TooLarge
from leaderboard.services.runs import partial_uploads
from leaderboard.services.runs.partial_uploads import Partial, PartialRequest, Room
from leaderboard.trec.read.bundles import base_name
from leaderboard.web.addresses import whole
from leaderboard.web.files import LARGEST_NUMBER_DIGITS, Received, number, received_all
from leaderboard.web.rules import SIGNED_IN, Body, rule
from leaderboard.web.runs.facts import wishes
from leaderboard.web.session import finish_reading, reading, settings, viewer, writing

blueprint = Blueprint("pieces", __name__)

PIECE = "application/offset+octet-stream"
OFFSET = "Upload-Offset"


@blueprint.post("/tasks/<slug>/pieces")
@rule(SIGNED_IN)
def begin(slug: str) -> ResponseReturnValue:
    """Make room for a file of the form, whose other fields are looked at before a byte of it comes."""
    name, size, team_id = request.form.get("file_name", ""), number("bytes", None), number("team", None)
    if not name or not size or team_id is None:
        raise Invalid("A file that comes in pieces needs its file_name, its bytes and a team.")
    file_name = base_name(name)
    made = begun(slug, PartialRequest(team_id, file_name, size, "", wishes(file_name)))
    return jsonify(_facts(slug, made)), 201


@blueprint.get("/tasks/<slug>/pieces/<token>")
@rule(SIGNED_IN)
def show(slug: str, token: str) -> ResponseReturnValue:
    """How much of a file has come."""
    return jsonify(_facts(slug, partial_uploads.own(reading(), viewer(), slug, token)))


@blueprint.patch("/tasks/<slug>/pieces/<token>")
@rule(SIGNED_IN, Body.PIECE)
def append(slug: str, token: str) -> ResponseReturnValue:
    """Append a piece; the form says what becomes of the whole file."""
    with held(slug, token) as (mine, path, file):
        if mine.upload_id is None:
            append_body(mine, path, file)
    return jsonify(_facts(slug, mine))


@blueprint.post("/tasks/<slug>/pieces/<token>/drop")
@rule(SIGNED_IN)
def drop(slug: str, token: str) -> ResponseReturnValue:
    """Throw away what came of a file."""
    give_up(slug, token)
    return redirect(url_for("uploads.form", slug=slug), 303)


def begun(slug: str, wanted: PartialRequest) -> Partial:
    """Room made for a file; raises as `partial_uploads.begin` does."""
    here = settings()
    room = Room(here.upload_bytes, shutil.disk_usage(here.data).free - here.free_bytes)
    with writing() as session:
        partial_uploads.expire(session, here.data)
        return partial_uploads.begin(session, viewer(), slug, wanted, room)


@contextmanager
def held(slug: str, token: str) -> Iterator[tuple[Partial, Path, IO[bytes]]]:
    """A file of the viewer's own that no other request changes meanwhile; raises NotFound and Conflict."""
    partial_uploads.own(reading(), viewer(), slug, token)
    path = partial_uploads.path_of(settings().data, token)
    with partial_uploads.held(path) as file:
        # What another request did before this one had the file.
        finish_reading()
        mine = partial_uploads.own(reading(), viewer(), slug, token)
        finish_reading()
        yield mine, path, file


def append_body(mine: Partial, path: Path, file: IO[bytes]) -> None:
    """Append the request's body where it is the next piece; raises Conflict, TooLarge, Invalid."""
    if request.mimetype not in (PIECE, "application/octet-stream"):
        raise UnsupportedMediaType
    begins, offset = byte_count(OFFSET), partial_uploads.offset(path)
    if begins != offset:
        raise Conflict(f"This upload goes on at byte {offset:,}, not {begins:,}; ask for its offset.")
    if (request.content_length or 0) > mine.bytes - offset:
        raise TooLarge(f"The file was said to have {mine.bytes:,} bytes; this piece goes beyond them.")
    partial_uploads.append(file, request.stream, mine.bytes - offset)


def byte_count(header: str) -> int:
    """The number of bytes that a header says; raises Invalid."""
    value = whole(request.headers.get(header, ""), digits=LARGEST_NUMBER_DIGITS)
    if value is None:
        rule = "must be a whole number of bytes."
        raise Invalid(f"{header} {rule}", [Problem(rule, field=header)])
    return value


def arrived(mine: Partial) -> int:
    """Bytes of a file that came so far."""
    if mine.upload_id is not None:
        return mine.bytes
    return partial_uploads.offset(partial_uploads.path_of(settings().data, mine.id))


def give_up(slug: str, token: str) -> None:
    """Forget a file of the viewer's own, and what came of it."""
    with held(slug, token) as (mine, path, _), writing() as session:
        partial_uploads.drop(session, mine.id)
    partial_uploads.remove_partial_files(path)


def waiting(slug: str) -> list[tuple[Partial, int]]:
    """The viewer's files that became no run yet, and how much of each has come."""
    mine = partial_uploads.own_list(reading(), viewer(), slug)
    return [(one, arrived(one)) for one in mine if one.upload_id is None]


@contextmanager
def sent_files(slug: str) -> Iterator[list[Received]]:
    """The run files of the form: those that it brings, and those that came in pieces before.

    The latter are forgotten once the block is through; where it raises they stay, to be sent again.
    Raises Invalid where one is not whole, NotFound where it is gone, Conflict where another request has it.
    """
    with ExitStack() as holds:
        tokens = dict.fromkeys(request.form.getlist("piece"))
        pieces = [_whole(*holds.enter_context(held(slug, token))) for token in tokens]
        yield [*received_all("file"), *pieces]
        if pieces:
            with writing() as session:
                for piece in pieces:
                    partial_uploads.drop(session, piece.path.name)
    for piece in pieces:
        partial_uploads.remove_partial_files(piece.path)


def _whole(mine: Partial, path: Path, _: IO[bytes]) -> Received:
    if mine.upload_id is not None:
        raise Conflict(f"{mine.file_name} was sent before: it is upload {mine.upload_id}.")
    came = partial_uploads.offset(path)
    if came < mine.bytes:
        remedy = "Choose the file again: it goes on where it stopped."
        problem = Problem("is not whole.", remedy, field="file", value=mine.file_name)
        raise Invalid(f"Of {mine.file_name} {came:,} of {mine.bytes:,} bytes came.", [problem])
    return Received(path, mine.file_name)


def _facts(slug: str, mine: Partial) -> dict[str, Any]:
    return {
        "id": mine.id,
        "address": url_for("pieces.show", slug=slug, token=mine.id),
        "offset": arrived(mine),
        "length": mine.bytes,
    }
