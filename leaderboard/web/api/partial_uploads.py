"""Operations on run files that are sent in pieces, as tus 1.0.0 has it (https://tus.io/protocols/resumable-upload).

Core, with the extensions creation, expiration and termination. The length of the file in the data folder
is the offset, and whoever appends holds that file.
"""

import base64
import binascii
import hashlib
import re
from dataclasses import dataclass, replace
from email.utils import format_datetime
from pathlib import Path
from types import NoneType

from flask import Response, request, url_for

from leaderboard.errors import Invalid, Problem, WrongVersion
from leaderboard.services.runs import facts, partial_uploads, prepare
from leaderboard.services.runs.limits import RunRequest
from leaderboard.services.runs.partial_uploads import Partial, PartialRequest
from leaderboard.trec.read.bundles import base_name
from leaderboard.web import conditions
from leaderboard.web.api import values
from leaderboard.web.api.answers import PartialUploadAnswer, PartialUploadList
from leaderboard.web.api.operations import LOOK, PIECE_OF_FILE, SUBMIT, Header, Reply, operation
from leaderboard.web.api.runs import reproduces
from leaderboard.web.files import Received
from leaderboard.web.rules import SIGNED_IN, Rule
from leaderboard.web.runs import pieces, uploads
from leaderboard.web.security import is_storable
from leaderboard.web.session import reading, settings, viewer, wake, writing

VERSION = "1.0.0"
EXTENSIONS = "creation,expiration,termination"
SHA256 = re.compile(r"[0-9a-f]{64}")
NUMBER = {"type": "integer", "minimum": 0}
TUS = Header(
    "Tus-Resumable", {"type": "string", "const": VERSION}, "The version of tus that the client speaks.", False
)
LENGTH = Header("Upload-Length", {"type": "integer", "minimum": 1}, "Bytes of the whole file.")
METADATA = Header(
    "Upload-Metadata",
    {"type": "string"},
    "Pairs `key base64`, with commas between: team_id (its number), name (of the run), and where wished "
    "file_name, kind, phase, description, sha256 (of the whole file, in hexadecimal), reproduces (the number "
    "of the original run), original_baseline, baseline.",
)
OFFSET = Header(pieces.OFFSET, NUMBER, "Where the piece begins: the number of bytes that came before.")


@dataclass(frozen=True, slots=True, kw_only=True)
class Metadata:
    """What a sender says of a file; sha256 is in hexadecimal.

    reproduces, original_baseline, baseline, late: as with a run that is sent at once.
    """

    team_id: int
    name: str = ""
    kind: str = "official"
    phase: str = ""
    description: str = ""
    file_name: str = ""
    sha256: str = ""
    reproduces: int | None = None
    original_baseline: int | None = None
    baseline: int | None = None
    late: str = ""


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
    """Begin to send a run in pieces

    For large files and bad connections, by any client of tus 1.0.0. `Location` says where the pieces go. Who
    may send, and how much, is looked at now and again at the end; the quota counts what came whole.
    """
    _require_version()
    made = pieces.begun(slug, _wanted())
    where = {"Location": url_for("api.partial_upload", slug=slug, token=made.id)}
    return Reply(answer=_answer(made), status=201, headers=_headers(made) | where)


@operation("GET", "/tasks/<slug>/uploads", PartialUploadList, rule=Rule(SIGNED_IN), scopes=LOOK)
def list_partial_uploads(slug: str) -> PartialUploadList:
    """Your uploads in pieces

    Those that you began in the last day, the oldest first.
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
    """How much of an upload has come

    Also by HEAD: `Upload-Offset` says where the next piece begins. Once all is there and taken, `upload` is
    the number at which its check is asked for.
    """
    _require_version()
    found = partial_uploads.own(reading(), viewer(), slug, token)
    return Reply(answer=_answer(found), status=200, headers=_headers(found))


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
    """Send a piece

    At the offset that the site has; what came of a piece that was cut off counts. With the last byte the
    file goes the way of one sent at once, and `Location` says where to ask. Where it is refused then, for
    instance as over quota, an empty piece at its end tries again.
    """
    _require_version()
    with pieces.held(slug, token) as (mine, path, file):
        # What came of a piece is kept before anything is written to the database.
        conditions.meet_condition()
        if mine.upload_id is None:
            pieces.append_body(mine, path, file)
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
    """Give an upload in pieces up

    What came of it is thrown away; a run that was made of it stays.
    """
    _require_version()
    pieces.give_up(slug, token)
    return Reply(answer=None, status=204, headers={})


OPERATIONS = (begin_upload, list_partial_uploads, partial_upload, append_to_upload, drop_upload)
ENDPOINTS = frozenset(f"api.{one.name}" for one in OPERATIONS)


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
        raise WrongVersion(f"This site speaks tus {VERSION} only.")


def _wanted() -> PartialRequest:
    size = pieces.byte_count(LENGTH.name)
    if size == 0:
        raise Invalid("The file is empty.", [Problem("is 0.", "Send a file with a run.", field=LENGTH.name)])
    said: Metadata = values.from_texts(_texts(), Metadata, "key of Upload-Metadata")
    if said.sha256 and not SHA256.fullmatch(said.sha256):
        rule = "must be 64 lower-case hexadecimal digits."
        raise Invalid(f"sha256 {rule}", [Problem(rule, field="sha256", value=said.sha256[:80])])
    file_name = base_name(said.file_name) or said.name
    name = said.name or prepare.suggested_name(file_name)
    description = facts.require_short(said.description)
    originals = reproduces(said.reproduces, said.original_baseline, said.baseline)
    wishes = RunRequest(name, said.kind, description, {}, said.phase, reproduces=originals, late=said.late)
    return PartialRequest(said.team_id, file_name, size, said.sha256, wishes)


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
        raise _unreadable(METADATA, "must hold no characters that cannot be stored, such as NUL.")
    return texts


def _unreadable(header: Header, rule: str) -> Invalid:
    return Invalid(f"{header.name} {rule}", [Problem(rule, header.words, field=header.name)])


def _delivered(mine: Partial, slug: str, path: Path) -> Partial:
    """The upload after its file went the way of one sent at once; raises as that does."""
    _require_digest(mine, path)
    received = Received(path, mine.file_name)
    submission = uploads.deliver(slug, mine.team_id, received, mine.wishes, mine.key)
    with writing() as session:
        partial_uploads.settle(session, mine.id, submission.upload_id)
    wake()
    return replace(mine, upload_id=submission.upload_id)


def _require_digest(mine: Partial, path: Path) -> None:
    if not mine.sha256:
        return
    with path.open("rb") as file:
        found = hashlib.file_digest(file, "sha256").hexdigest()
    if found != mine.sha256:
        # Nobody can say which byte is wrong: it is sent anew from the first on.
        partial_uploads.empty(path)
        rule = f"is not that of what came, {found}."
        remedy = "Send the file again, from byte 0 on."
        problem = Problem(rule, remedy, field="sha256", value=mine.sha256)
        raise Invalid("What came is not the file that was announced; it was thrown away.", [problem])


def _headers(mine: Partial) -> dict[str, str]:
    return {
        OFFSET.name: str(pieces.arrived(mine)),
        LENGTH.name: str(mine.bytes),
        "Upload-Expires": format_datetime(mine.expires_at, usegmt=True),
    }


def _answer(mine: Partial) -> PartialUploadAnswer:
    return PartialUploadAnswer(
        id=mine.id,
        team=mine.team_id,
        team_id=mine.team_id,
        run=mine.wishes.name,
        file_name=mine.file_name,
        offset=pieces.arrived(mine),
        length=mine.bytes,
        expires_at=mine.expires_at,
        upload=mine.upload_id,
    )
