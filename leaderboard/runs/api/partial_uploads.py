"""Operations for resumable uploads of run files, following tus 1.0.0
(https://tus.io/protocols/resumable-upload).

Core, with the extensions creation, expiration and termination. The length of the file in the data folder
is the offset, and anyone who appends holds that file.
"""

import base64
import binascii
import hashlib
import re
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from email.utils import format_datetime
from pathlib import Path
from types import NoneType
from typing import IO, Annotated

from flask import Response, request, url_for
from werkzeug.exceptions import UnsupportedMediaType

from leaderboard import fields
from leaderboard.core.actions import Given, Received
from leaderboard.errors import Conflict, Invalid, Problem, TooLarge, WrongVersion
from leaderboard.fields import Field
from leaderboard.runs.ops import partial_uploads, prepare, uploads
from leaderboard.runs.ops.partial_uploads import Partial, PartialRequest, Room
from leaderboard.runs.ops.uploads import RunProperties
from leaderboard.trec.read.bundles import base_name
from leaderboard.web.addresses import whole
from leaderboard.web.api import values
from leaderboard.web.api.answers import PartialUploadAnswer, PartialUploadList
from leaderboard.web.api.operations import LOOK, PIECE, PIECE_OF_FILE, SUBMIT, Header, Reply, operation
from leaderboard.web.http import is_storable
from leaderboard.web.rules import LARGEST_NUMBER_DIGITS, SIGNED_IN, Rule
from leaderboard.web.session import (
    SESSIONS,
    finish_reading,
    meet_condition,
    reading,
    settings,
    viewer,
    wake,
    writing,
)

VERSION = "1.0.0"
EXTENSIONS = "creation,expiration,termination"
SHA256 = re.compile(r"[0-9a-f]{64}")
NUMBER = {"type": "integer", "minimum": 0}
TUS = Header("Tus-Resumable", {"type": "string", "const": VERSION}, "The client's version of tus.", False)
LENGTH = Header("Upload-Length", {"type": "integer", "minimum": 1}, "Size of the whole file in bytes.")
METADATA = Header(
    "Upload-Metadata",
    {"type": "string"},
    "Comma-separated pairs `key base64`: team_id (its number), name (of the run), and optionally file_name, "
    "kind, phase, description, sha256 (of the whole file, in hexadecimal), reproduces (the number "
    "of the original run), original_baseline, baseline.",
)
OFFSET = Header("Upload-Offset", NUMBER, "Offset of the piece: the number of bytes received before it.")


@dataclass(frozen=True, slots=True, kw_only=True)
class Metadata(RunProperties):
    """Metadata of an announced file; sha256 is in hexadecimal."""

    name: Annotated[str, Field(title="Name")] = ""
    sha256: Annotated[str, Field(title="SHA-256")] = ""


@operation(
    "POST",
    "/tasks/<slug>/uploads",
    PartialUploadAnswer,
    rule=Rule(SIGNED_IN),
    scopes=SUBMIT,
    status=201,
    headers=(TUS, LENGTH, METADATA),
)
def begin_upload(slug: str) -> Reply:
    """Start a partial upload

    For large files and unreliable connections, with any tus 1.0.0 client. `Location` gives the address for
    the pieces. Permissions and limits are checked now and again at the end; the quota counts complete
    uploads.
    """
    _require_version()
    partial = _begun(slug, _wanted())
    where = {"Location": url_for("api.partial_upload", slug=slug, token=partial.id)}
    return Reply(answer=_answer(partial), status=201, headers=_headers(partial) | where)


@operation("GET", "/tasks/<slug>/uploads", PartialUploadList, rule=Rule(SIGNED_IN), scopes=LOOK)
def list_partial_uploads(slug: str) -> PartialUploadList:
    """List your partial uploads

    Those started in the last day, oldest first.
    """
    mine = partial_uploads.own_list(reading(), viewer(), slug)
    return PartialUploadList(uploads=tuple(map(_answer, mine)))


@operation(
    "GET",
    "/tasks/<slug>/uploads/<token>",
    PartialUploadAnswer,
    rule=Rule(SIGNED_IN),
    scopes=LOOK,
    headers=(TUS,),
)
def partial_upload(slug: str, token: str) -> Reply:
    """Show the progress of a partial upload

    Also by HEAD: `Upload-Offset` gives the start of the next piece. Once the file is complete and accepted,
    `upload` is the number of the upload whose check to query.
    """
    _require_version()
    partial = partial_uploads.own(reading(), viewer(), slug, token)
    return Reply(answer=_answer(partial), status=200, headers=_headers(partial))


@operation(
    "PATCH",
    "/tasks/<slug>/uploads/<token>",
    NoneType,
    rule=PIECE_OF_FILE,
    scopes=SUBMIT,
    status=204,
    headers=(TUS, OFFSET),
)
def append_to_upload(slug: str, token: str) -> Reply:
    """Upload a piece

    At the site's current offset; the received part of an interrupted piece counts. After the last byte the
    file is processed like one submitted in one request, and `Location` gives the address to query. If it is
    refused then, for instance as over quota, send an empty piece at its end to try again.
    """
    _require_version()
    with _locked(slug, token) as (mine, path, file):
        # What came of a piece is kept before anything is written to the database.
        meet_condition()
        if mine.upload_id is None:
            _append_body(mine, path, file)
            if partial_uploads.offset(path) < mine.bytes:
                return Reply(answer=None, status=204, headers=_headers(mine))
            mine = _delivered(mine, slug, path)
    partial_uploads.remove_partial_files(path)
    where = {"Location": url_for("api.upload", upload_id=mine.upload_id)}
    return Reply(answer=None, status=204, headers=_headers(mine) | where)


@operation(
    "DELETE",
    "/tasks/<slug>/uploads/<token>",
    NoneType,
    rule=Rule(SIGNED_IN),
    scopes=SUBMIT,
    status=204,
    headers=(TUS,),
)
def drop_upload(slug: str, token: str) -> Reply:
    """Delete a partial upload

    The received bytes are discarded; a run created from the upload stays.
    """
    _require_version()
    with _locked(slug, token) as (mine, path, _), writing() as session:
        partial_uploads.drop(session, mine.id)
    partial_uploads.remove_partial_files(path)
    return Reply(answer=None, status=204, headers={})


OPERATIONS = (begin_upload, list_partial_uploads, partial_upload, append_to_upload, drop_upload)
ENDPOINTS = frozenset(f"api.{operation.name}" for operation in OPERATIONS)


def say_protocol(response: Response) -> Response:
    """The answer with what tus asks for of every one; to OPTIONS also what the site can do."""
    if request.endpoint in ENDPOINTS:
        response.headers["Tus-Resumable"] = VERSION
        response.headers["Tus-Version"] = VERSION
        response.headers["Tus-Extension"] = EXTENSIONS
        response.headers["Tus-Max-Size"] = str(settings().upload_bytes)
    return response


def _require_version() -> None:
    if request.headers.get(TUS.name, VERSION) != VERSION:
        raise WrongVersion(f"This site supports only tus {VERSION}.")


def _wanted() -> PartialRequest:
    size = _byte_count(LENGTH.name)
    if size == 0:
        raise Invalid(
            "The file is empty.", [Problem("is 0.", "Submit a file that contains a run.", field=LENGTH.name)]
        )
    sent = values.from_texts(_texts(), fields.as_sent(Metadata), "key of Upload-Metadata")
    metadata = fields.read(Metadata, asdict(sent))
    if metadata.sha256 and not SHA256.fullmatch(metadata.sha256):
        rule = "must be 64 lower-case hexadecimal digits."
        raise Invalid(f"sha256 {rule}", [Problem(rule, field="sha256", value=metadata.sha256[:80])])
    file_name = base_name(metadata.file_name) or metadata.name
    run_request = metadata.request(metadata.name or prepare.suggested_name(file_name))
    return PartialRequest(metadata.team_id, file_name, size, metadata.sha256, run_request)


def _begun(slug: str, partial_request: PartialRequest) -> Partial:
    """Room made for a file; raises as `partial_uploads.begin` does."""
    here = settings()
    room = Room(here.upload_bytes, shutil.disk_usage(here.data).free - here.free_bytes)
    with writing() as session:
        partial_uploads.expire(session, here.data)
        return partial_uploads.begin(session, viewer(), slug, partial_request, room)


@contextmanager
def _locked(slug: str, token: str) -> Iterator[tuple[Partial, Path, IO[bytes]]]:
    """A file of the viewer's own that no other request changes meanwhile; raises NotFound and Conflict."""
    partial_uploads.own(reading(), viewer(), slug, token)
    path = partial_uploads.path_of(settings().data, token)
    with partial_uploads.locked(path) as file:
        # What another request did before this one had the file.
        finish_reading()
        mine = partial_uploads.own(reading(), viewer(), slug, token)
        finish_reading()
        yield mine, path, file


def _append_body(mine: Partial, path: Path, file: IO[bytes]) -> None:
    """Append the request's body where it is the next piece; raises Conflict, TooLarge, Invalid."""
    if request.mimetype not in (PIECE, "application/octet-stream"):
        raise UnsupportedMediaType
    begins, offset = _byte_count(OFFSET.name), partial_uploads.offset(path)
    if begins != offset:
        raise Conflict(f"This upload continues at byte {offset:,}, not {begins:,}. Ask for its offset.")
    if (request.content_length or 0) > mine.bytes - offset:
        raise TooLarge(f"The file was announced with {mine.bytes:,} bytes; this piece exceeds them.")
    partial_uploads.append(file, request.stream, mine.bytes - offset)


def _byte_count(header: str) -> int:
    """The number of bytes in a header; raises Invalid."""
    value = whole(request.headers.get(header, ""), digits=LARGEST_NUMBER_DIGITS)
    if value is None:
        rule = "must be a whole number of bytes."
        raise Invalid(f"{header} {rule}", [Problem(rule, field=header)])
    return value


def _arrived(mine: Partial) -> int:
    """Bytes of a file that came so far."""
    if mine.upload_id is not None:
        return mine.bytes
    return partial_uploads.offset(partial_uploads.path_of(settings().data, mine.id))


def _texts() -> dict[str, str]:
    """The pairs of Upload-Metadata."""
    texts: dict[str, str] = {}
    for pair in filter(None, map(str.strip, request.headers.get(METADATA.name, "").split(","))):
        key, _, encoded = pair.partition(" ")
        try:
            texts[key] = base64.b64decode(encoded.strip(), validate=True).decode()
        except (binascii.Error, ValueError):
            raise _unreadable(METADATA, "must be pairs of a key and its value in base64.") from None
    if not all(map(is_storable, texts.values())):
        raise _unreadable(METADATA, "must not contain characters that cannot be stored, such as NUL.")
    return texts


def _unreadable(header: Header, rule: str) -> Invalid:
    return Invalid(f"{header.name} {rule}", [Problem(rule, header.words, field=header.name)])


def _delivered(mine: Partial, slug: str, path: Path) -> Partial:
    """The upload after its file went the way of one sent at once; raises as that does."""
    _require_digest(mine, path)
    files = {"file": Received(path, mine.file_name)}
    given = Given(files, None, (slug,), viewer(), SESSIONS, settings(), mine.key)
    sent = uploads.prepared(given, mine.team_id, viewer(), mine.run_request)
    with writing() as session:
        submission = uploads.store(session, *sent)
    with writing() as session:
        partial_uploads.settle(session, mine.id, submission.upload_id)
    wake()
    return replace(mine, upload_id=submission.upload_id)


def _require_digest(mine: Partial, path: Path) -> None:
    if not mine.sha256:
        return
    with path.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    if digest != mine.sha256:
        # Nobody can say which byte is wrong: it is sent again from the first on.
        partial_uploads.empty(path)
        rule = f"does not match the received bytes, {digest}."
        remedy = "Send the file again from byte 0."
        problem = Problem(rule, remedy, field="sha256", value=mine.sha256)
        raise Invalid("The received file is not the announced file; it was discarded.", [problem])


def _headers(mine: Partial) -> dict[str, str]:
    return {
        OFFSET.name: str(_arrived(mine)),
        LENGTH.name: str(mine.bytes),
        "Upload-Expires": format_datetime(mine.expires_at, usegmt=True),
    }


def _answer(mine: Partial) -> PartialUploadAnswer:
    return PartialUploadAnswer(
        id=mine.id,
        team=mine.team_id,
        team_id=mine.team_id,
        run=mine.run_request.name,
        file_name=mine.file_name,
        offset=_arrived(mine),
        length=mine.bytes,
        expires_at=mine.expires_at,
        upload=mine.upload_id,
    )
